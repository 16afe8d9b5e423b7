"""Sentences about the members of a stack."""

from bayesgen.errors.base import BayesgenWarning, listed, shown


class LeftOut(BayesgenWarning):
    """A member of a stack is not fitted, or could not be; the others go on without it."""

    @classmethod
    def too_wide(cls, names: list, columns: int, widest: int) -> "LeftOut":
        """Structures whose cost grows with the cube of the columns, and there are many columns."""
        return cls(
            f"the table has {columns:,} columns, and the cost of {listed(names, 20)} grows with "
            f"their cube: above {widest:,} columns they are left out of the stack. Pass "
            "members={'linear': bg.LDA(), ...} to fit what you want all the same."
        )

    @classmethod
    def member(cls, name: str, error: Exception) -> "LeftOut":
        """Fitting the member raised an error."""
        return cls(
            f"member {shown(name)} is left out of the stack: {str(error).rstrip('.')}. Leave it "
            "out of members= to silence this."
        )
