"""Model files and checkpoints: what cannot be saved, written or read."""

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, shown

REPLACE_FILE = "Save the model again, or fetch the file again"


class UnsavableModel(BayesgenError, TypeError):
    """A part of a model is neither a number nor a name, and a file holds nothing else."""

    @classmethod
    def program(cls, found: object) -> "UnsavableModel":
        """A program of the user's own, of which a file keeps the name, has none."""
        return cls(
            f"story={found!r} has no import path, and a file holds the import path of a program, "
            "not its code. Define it by def, at the top level of a module."
        )

    @classmethod
    def programs(cls, one: str, other: str) -> "UnsavableModel":
        """A stack of two programs."""
        return cls(
            f"the model is of two programs, {shown(one)} and {shown(other)}, and a file holds the "
            "draws of one. Save each classifier by itself."
        )

    @classmethod
    def value(cls, where: str, found: object) -> "UnsavableModel":
        """Anything else that is no data."""
        return cls(
            f"{where} is of type {type(found).__module__}.{type(found).__qualname__}; numbers, "
            "text, arrays and bayesgen's own parts can be saved, because loading must not run "
            "code. Leave it out, or keep the object by joblib.dump, for yourself alone."
        )

    @classmethod
    def dtype(cls, where: str, found: object) -> "UnsavableModel":
        """An array of a type that other machines may not have."""
        return cls(
            f"{where} is an array of {found}; whole and real numbers, booleans and text can be "
            "saved. Convert it: .astype(float) or .astype(str)."
        )

    @classmethod
    def not_read_back(cls, estimator: str, reason: str) -> "UnsavableModel":
        """The file was written and could not be read: it is not kept."""
        return cls(
            f"this {estimator} cannot be saved: what was written did not read back ({reason}). "
            "Keep the object by joblib.dump, for yourself alone."
        )


class UnwritableFile(BayesgenError, ValueError):
    """The place that was named takes no file."""

    @classmethod
    def because(cls, path: object, reason: str) -> "UnwritableFile":
        """The operating system says why."""
        return cls(
            f"cannot write {shown(str(path))}: {reason}; a file in an existing folder is needed. "
            "Choose another path."
        )


class InvalidModelFile(BayesgenError, ValueError):
    """A file holds no model that this version of the library can load; nothing in it was run."""

    @classmethod
    def unreadable(cls, path: object, reason: str) -> "InvalidModelFile":
        """There is no file, or it may not be read."""
        return cls(
            f"cannot read {shown(str(path))}: {reason}; a file that clf.save(path) wrote is "
            "needed. Check the path."
        )

    @classmethod
    def foreign(cls, path: object, found: str) -> "InvalidModelFile":
        """Something else, by its first bytes."""
        return cls(
            f"{shown(str(path))} is {found}, no model that bayesgen saved; nothing in it was run. "
            "Pass a file that clf.save(path) wrote."
        )

    @classmethod
    def damaged(cls, path: object, reason: str) -> "InvalidModelFile":
        """The bytes are not those that were saved."""
        return cls(f"{shown(str(path))} is damaged: {reason}. {REPLACE_FILE}.")

    @classmethod
    def newer(cls, path: object, found: object, supported: Count) -> "InvalidModelFile":
        """A later version of the library wrote it."""
        return cls(
            f"{shown(str(path))} has the format {shown(found)}; this version of bayesgen reads "
            f"formats up to {supported}. Upgrade: pip install --upgrade bayesgen."
        )

    @classmethod
    def unknown_class(cls, path: object, name: object) -> "InvalidModelFile":
        """The file names a class that is not in the registry."""
        return cls(
            f"{shown(str(path))} asks for {shown(name)}, which this version of bayesgen does not "
            "have. If it is a class of your own, pass it: bg.load(path, classes=[...])."
        )

    @classmethod
    def needs_program(cls, path: object, name: object) -> "InvalidModelFile":
        """The model is a program of the user's own, which was not passed."""
        return cls(
            f"{shown(str(path))} holds draws of the program {shown(name)}, and no code. Pass the "
            "program: bg.load(path, story=...)."
        )

    @classmethod
    def other_program(cls, path: object, there: object, here: object) -> "InvalidModelFile":
        """The program that was passed has another import path."""
        return cls(
            f"{shown(str(path))} holds draws of the program {shown(there)}, and story= is "
            f"{shown(here)}. Pass the program that was fitted, or fit this one."
        )

    @classmethod
    def no_program(cls, path: object) -> "InvalidModelFile":
        """A program was passed, and the model is made of likelihoods."""
        return cls(
            f"{shown(str(path))} holds a model that is not a program of your own. Leave out story=."
        )

    @classmethod
    def does_not_fit(cls, path: object, reason: str) -> "InvalidModelFile":
        """The parts contradict each other, or are not what they have to be."""
        return cls(
            f"{shown(str(path))} holds no model that could answer: {reason}. {REPLACE_FILE}."
        )


START_AGAIN = "Choose another path for this run, or delete the file to begin again"


class InvalidCheckpoint(BayesgenError, ValueError):
    """A file from which this run cannot go on; it is left as it is."""

    @classmethod
    def damaged(cls, path: object, reason: str) -> "InvalidCheckpoint":
        """The file is not what a sampler wrote."""
        return cls(
            f"cannot go on from checkpoint={shown(str(path))}: it is damaged, or no checkpoint "
            f"({reason}). {START_AGAIN}."
        )

    @classmethod
    def other_argument(
        cls, path: object, name: str, there: object, here: object
    ) -> "InvalidCheckpoint":
        """The run in the file was asked for something else."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: {name} is {shown(there)} there "
            f"and {shown(here)} here. {START_AGAIN}; to go on, ask for the same again."
        )

    @classmethod
    def other_seed(cls, path: object, there: Count, here: Count) -> "InvalidCheckpoint":
        """The run in the file began with other random numbers."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: its seed is {there} there "
            f"and {here} here. To go on, pass the random_state of that run, or random_state=None, "
            f"which takes the seed from the file. {START_AGAIN}."
        )

    @classmethod
    def other_data(cls, path: object) -> "InvalidCheckpoint":
        """The rows, the labels or the weights differ, or the guesses of the prior."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: the data there are not those "
            f"of this call, or guesses of the prior differ. {START_AGAIN}."
        )

    @classmethod
    def other_model(cls, path: object) -> "InvalidCheckpoint":
        """Parameters or densities differ."""
        return cls(
            f"checkpoint={shown(str(path))} belongs to another run: the model there is not that "
            f"of this call. {START_AGAIN}."
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
    return f"{where}. They are lost; NUTS(checkpoint='run.bgm') keeps them for the next call."
