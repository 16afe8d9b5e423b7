"""User-written NumPyro programs: validation, log density, posterior, simulation, imputation."""

from bayesgen.user_program.draws import OWNER as OWNER
from bayesgen.user_program.draws import ProgramDraws as ProgramDraws
from bayesgen.user_program.draws import named_axes as named_axes
from bayesgen.user_program.draws import prior_draws as prior_draws
from bayesgen.user_program.generate import simulate as simulate
from bayesgen.user_program.inference import ProgramRows as ProgramRows
from bayesgen.user_program.inference import infer as infer
from bayesgen.user_program.program import SINGLE as SINGLE
from bayesgen.user_program.program import UserProgram as UserProgram
from bayesgen.user_program.validation import validate as validate
