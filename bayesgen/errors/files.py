"""Sentences about models that cannot be saved, and about files that cannot be loaded."""

from bayesgen.errors.base import BayesgenError, Count, shown

AGAIN = "Save the model again, or fetch the file again"


class UnsavableModel(BayesgenError, TypeError):
    """A part of a model is neither a number nor a name, and a file holds nothing else."""

    @classmethod
    def story(cls, estimator: str) -> "UnsavableModel":
        """The model is a program of the user's own."""
        return cls(
            f"{estimator}(story=...) is a program of your own, and a file holds no code. Save its "
            "draws: clf.to_datatree().to_netcdf('draws.nc', engine='h5netcdf')."
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
        """An array of a type that netCDF does not know."""
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
        return cls(f"{shown(str(path))} is damaged: {reason}. {AGAIN}.")

    @classmethod
    def newer(cls, path: object, found: object, known: Count) -> "InvalidModelFile":
        """A later version of the library wrote it."""
        return cls(
            f"{shown(str(path))} has the format {shown(found)}; this version of bayesgen reads "
            f"formats up to {known}. Upgrade: pip install --upgrade bayesgen."
        )

    @classmethod
    def unknown_class(cls, path: object, name: object) -> "InvalidModelFile":
        """The file names a class that is not in the registry."""
        return cls(
            f"{shown(str(path))} asks for {shown(name)}, which this version of bayesgen does not "
            "have. If it is a class of your own, pass it: bg.load(path, classes=[...])."
        )

    @classmethod
    def does_not_fit(cls, path: object, reason: str) -> "InvalidModelFile":
        """The parts contradict each other, or are not what they have to be."""
        return cls(f"{shown(str(path))} holds no model that could answer: {reason}. {AGAIN}.")
