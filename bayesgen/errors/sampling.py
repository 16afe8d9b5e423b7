"""Sentences about sampling that was interrupted, and about the files from which it goes on."""

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, shown

ELSE = "Choose another path for this run, or delete the file to begin again"


class InvalidCheckpoint(BayesgenError, ValueError):
    """A file from which this run cannot go on; it is left as it is."""

    @classmethod
    def damaged(cls, path: object, reason: str) -> "InvalidCheckpoint":
        """The file is not what a sampler wrote."""
        return cls(
            f"cannot go on from checkpoint={shown(str(path))}: it is damaged, or no checkpoint "
            f"({reason}). {ELSE}."
        )

    @classmethod
    def other_argument(
        cls, path: object, name: str, there: object, here: object
    ) -> "InvalidCheckpoint":
        """The run in the file was asked for something else."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: {name} is {shown(there)} there "
            f"and {shown(here)} here. {ELSE}; to go on, ask for the same again."
        )

    @classmethod
    def other_seed(cls, path: object, there: Count, here: Count) -> "InvalidCheckpoint":
        """The run in the file began with other random numbers."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: its seed is {there} there "
            f"and {here} here. To go on, pass the random_state of that run, or random_state=None, "
            f"which takes the seed from the file. {ELSE}."
        )

    @classmethod
    def other_data(cls, path: object) -> "InvalidCheckpoint":
        """The rows, the labels or the weights differ, or the guesses of the prior."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: the data there are not those "
            f"of this call, or guesses of the prior differ. {ELSE}."
        )

    @classmethod
    def other_model(cls, path: object) -> "InvalidCheckpoint":
        """Parameters or densities differ."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: the model there is not that "
            f"of this call. {ELSE}."
        )


class CheckpointNotWritten(BayesgenWarning):
    """The place for a checkpoint takes no file; the draws are in memory all the same."""

    @classmethod
    def because(cls, path: object, reason: str) -> "CheckpointNotWritten":
        """The operating system says why."""
        return cls(
            f"cannot write checkpoint={shown(str(path))}: {reason}. Sampling goes on; "
            "stopped now, it would begin again. Free space there, or choose another path."
        )


def interrupted(path: str, *, had: Count, draws: Count, chains: Count, written: bool) -> str:
    """Return what to add to the exception that stops a sampler: how many draws there were."""
    where = f"NUTS had {had:,} of {draws:,} draws of each of {chains} chains"
    if not had:
        where = (
            f"NUTS was in its warm-up and had none of {draws:,} draws of each of {chains} chains"
        )
    if written:
        return f"{where}. {shown(path)} holds its state: the same call again goes on from there."
    return f"{where}. They are lost; NUTS(checkpoint='run.nc') keeps them for the next call."
