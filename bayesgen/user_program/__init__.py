"""User-written NumPyro programs: validation, log density, posterior, simulation, imputation."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "draws": ["OWNER", "ProgramDraws", "named_axes", "prior_draws"],
            "generate": ["simulate"],
            "inference": ["ProgramRows", "infer"],
            "program": ["SINGLE", "UserProgram"],
            "validation": ["validate"],
        },
    )
