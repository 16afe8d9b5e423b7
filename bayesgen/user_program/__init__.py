"""User-written NumPyro programs: validation, log density, posterior, simulation, imputation."""

from bayesgen.user_program.inference import ProgramRows as ProgramRows
from bayesgen.user_program.inference import infer as infer
from bayesgen.user_program.inference import parameter_draws as parameter_draws
from bayesgen.user_program.posterior import OWNER as OWNER
from bayesgen.user_program.posterior import ProgramPosterior as ProgramPosterior
from bayesgen.user_program.posterior import simulate as simulate
from bayesgen.user_program.posterior import size_keywords as size_keywords
from bayesgen.user_program.program import SINGLE as SINGLE
from bayesgen.user_program.program import UserProgram as UserProgram
