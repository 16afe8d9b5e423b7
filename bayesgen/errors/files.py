"""Errors about files: models and checkpoints that cannot be saved, written or read."""

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, Sentence, shown

REPLACE_FILE = "Save the model again, or fetch the file again"


class UnsavableModel(BayesgenError, TypeError):
    """A part of a model is neither a number nor a name, so it cannot be saved."""

    program = Sentence(
        "story={found!r} has no import path, and a file holds the import path of a program, not "
        "its code. Define it by def, at the top level of a module."
    )
    programs = Sentence(
        "the model contains two programs, {one!r} and {other!r}, but a file holds the draws of "
        "only one. Save each classifier separately."
    )
    value = Sentence(
        "{where} is of type {found.__class__.__module__}.{found.__class__.__qualname__}; numbers, "
        "text, arrays and bayesgen's own parts can be saved, because loading must not run code. "
        "Leave it out, or store the object with joblib.dump, for your own use only."
    )
    dtype = Sentence(
        "{where} is an array of {found}; whole and real numbers, booleans and text can be saved. "
        "Convert it: .astype(float) or .astype(str)."
    )
    not_read_back = Sentence(
        "this {estimator} cannot be saved: what was written could not be read back ({reason}). "
        "Store the object with joblib.dump, for your own use only."
    )


class UnwritableFile(BayesgenError, ValueError):
    """No file can be written at the path."""

    because = Sentence(
        "cannot write {path:path}: {reason}; a file in an existing folder is needed. Choose "
        "another path."
    )
    full = Sentence("cannot write {path:path}: {reason}. Free some space, or choose another path.")


class InvalidModelFile(BayesgenError, ValueError):
    """A file contains no model that this version can load; nothing in it was executed."""

    unreadable = Sentence(
        "cannot read {path:path}: {reason}; a file that clf.save(path) wrote is needed. Check the "
        "path."
    )
    foreign = Sentence(
        "{path:path} is {found}, not a model saved by bayesgen; nothing in it was run. Pass a "
        "file that clf.save(path) wrote."
    )
    damaged = Sentence("{path:path} is damaged: {reason}. {cure}.", cure=REPLACE_FILE)
    newer = Sentence(
        "{path:path} has the format {found!r}; this version of bayesgen reads formats up to "
        "{supported}. Upgrade: pip install --upgrade bayesgen."
    )
    unknown_class = Sentence(
        "{path:path} refers to {name!r}, which this version of bayesgen does not have. If it is a "
        "class of your own, pass it: bg.load(path, classes=[...])."
    )
    needs_program = Sentence(
        "{path:path} holds draws of the program {name!r}, and no code. Pass the program: "
        "bg.load(path, story=...)."
    )
    other_program = Sentence(
        "{path:path} holds draws of the program {there!r}, and story= is {here!r}. Pass the "
        "program that was fitted, or fit this one."
    )
    no_program = Sentence(
        "{path:path} holds a model that is not a program of your own. Leave out story=."
    )
    does_not_fit = Sentence(
        "{path:path} does not hold a usable model: {reason}. {cure}.",
        cure=REPLACE_FILE,
    )


START_AGAIN = "Choose another path for this run, or delete the file to start again"


class InvalidCheckpoint(BayesgenError, ValueError):
    """A checkpoint that this run cannot resume from; the file is left unchanged."""

    damaged = Sentence(
        "cannot resume from checkpoint={path:path}: it is damaged, or not a checkpoint "
        "({reason}). {cure}.",
        cure=START_AGAIN,
    )
    other_argument = Sentence(
        "checkpoint={path:path} belongs to another run: {name} is {there!r} there and {here!r} "
        "here. {cure}; to resume it, pass the same arguments.",
        cure=START_AGAIN,
    )
    other_seed = Sentence(
        "checkpoint={path:path} belongs to another run: its seed is {there} there and {here} "
        "here. To resume it, pass the random_state of that run, or random_state=None, which takes "
        "the seed from the file. {cure}.",
        cure=START_AGAIN,
    )
    other_data = Sentence(
        "checkpoint={path:path} belongs to another run: its data or its prior guesses differ from "
        "those of this call. {cure}.",
        cure=START_AGAIN,
    )
    other_model = Sentence(
        "checkpoint={path:path} belongs to another run: its model differs from that of this call. "
        "{cure}.",
        cure=START_AGAIN,
    )


class CheckpointNotWritten(BayesgenWarning):
    """No checkpoint can be written at the path; the draws stay in memory."""

    because = Sentence(
        "cannot write checkpoint={path:path}: {reason}. Sampling continues, but if it is stopped "
        "it must start again. Free some space, or choose another path."
    )


def interrupted(path: str, *, had: Count, draws: Count, chains: Count, written: bool) -> str:
    """Return a note for the exception that stops a sampler: the number of draws so far."""
    where = f"NUTS had {had:,} of {draws:,} draws of each of {chains} chains"
    if not had:
        where = (
            f"NUTS was in its warm-up and had none of {draws:,} draws of each of {chains} chains"
        )
    if written:
        return f"{where}. {shown(path)} holds its state: repeat the same call to resume."
    return f"{where}. They are lost; NUTS(checkpoint='run.bgm') keeps them for the next call."
