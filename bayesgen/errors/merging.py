"""Errors about classifiers that cannot be merged, and rows that cannot be forgotten."""

from bayesgen.errors.base import BayesgenError, Sentence


class DifferentModels(BayesgenError, ValueError):
    """Two classifiers cannot be merged, because their columns, likelihoods or arguments differ."""

    estimators = Sentence(
        "one classifier is of type {one} and the other of type {other}; merge needs two of the "
        "same type. Fit both as {one}."
    )
    argument = Sentence(
        "{name}= is {one!r} in one classifier and {other!r} in the other; merge needs two of the "
        "same model. Fit both with {name}={one!r}."
    )
    columns = Sentence(
        "only one of the classifiers reads the {only:named column}; merge needs two that read the "
        "same columns. Fit the other to rows that have it, with missing values (NaN) where it is "
        "unknown."
    )
    vocabulary = Sentence(
        "only one of the classifiers knows the {only:named word}; merge needs two with the same "
        "vocabulary. Fit both with the words of both: words = sorted({{*one.vectorizer_"
        ".get_feature_names_out(), *other.vectorizer_.get_feature_names_out()}}); "
        "bg.BagOfWords(vectorizer=sklearn.base.clone(one.vectorizer_)"
        ".set_params(vocabulary=words))."
    )
    order = Sentence(
        "the classifiers read their columns in different orders, {one:listed} and {other:listed}. "
        "Fit both to X[{one}]."
    )
    likelihood = Sentence(
        "column {column!r} is read by {one!r} in one classifier and by {other!r} in the other; "
        "statistics can be added only under the same likelihood and prior. State it in both: "
        "likelihood={{{column!r}: {one!r}, ...}}."
    )
    learned = Sentence(
        "column {column!r} is {what} differently in the two classifiers, as each learned it from "
        "its own rows. Fit one classifier to all rows, or both without {argument}."
    )
    blocks = Sentence(
        "the columns form the blocks {one:listed} in one classifier and {other:listed} in the "
        "other; merge needs two with the same blocks. State the same likelihood= in both."
    )
    binary = Sentence(
        "column {column!r} holds 0 and 1 as the levels {one:listed} in one classifier and "
        "{other:listed} in the other. Declare them in the same order in both: "
        "pandas.Categorical(X[{column!r}], [{one:listed}])."
    )
    levels = Sentence(
        "column {column!r} has the levels {one:listed 10} in one classifier and {other:listed 10} "
        "in the other, and {likelihood!r} states a number for each by its position. Declare the "
        "levels in both: pandas.Categorical(X[{column!r}], [{one:listed 10}])."
    )
    classes = Sentence(
        "the classes are {one:listed} in one classifier and {other:listed} in the other; text, "
        "numbers or booleans are allowed, all of one type. Fit both to y.astype(str)."
    )


REST = "Fit the remaining rows: clf.fit(X[rest], y[rest])"


class CannotForget(BayesgenError, ValueError):
    """Rows that cannot have been in the fit, or that cannot be subtracted from it."""

    classes = Sentence(
        "y has the {labels:named class}, which the fit did not have; its classes are "
        "{existing:listed}. Pass rows of the fit."
    )
    rows = Sentence(
        "class {label!r} has {found:g} rows here (sum of weights), but the fit had {fitted:g}. "
        "Pass rows of the fit, each once and with the weight it had there."
    )
    unlabelled = Sentence(
        "y has no label in {count:rows}, and only labeled rows can be subtracted. Leave these out: "
        "keep = pandas.notna(y); forget(X[keep], y[keep])."
    )
    level = Sentence(
        "column {column!r} has the {levels:named level}, which the fit did not have; it had "
        "{existing:listed 10}. Pass rows of the fit."
    )
    foreign = Sentence(
        "these rows cannot have been in the fit: subtracting them would leave a negative count or "
        "variance of the {columns:named column} in class {label!r}. Pass rows of the fit, each "
        "once and with the weight it had there.",
        order="columns label",
    )
    digits = Sentence(
        "rounding error would dominate the {columns:named column} in class {label!r}: compared "
        "with the rows to forget, the remaining ones vary too little or weigh too little. {cure}.",
        order="columns label",
        cure=REST,
    )
    weights = Sentence(
        "rounding error would dominate the weight of class {label!r}, whose weights are not whole "
        "numbers. {cure}.",
        order="label",
        cure=REST,
    )
    learned = Sentence(
        "forget subtracts statistics, but {name}={value!r} is learned from the rows themselves. "
        "{cure}.",
        order="name value",
        cure=REST,
    )
    stack = Sentence(
        "forget subtracts statistics, but the weights of a stack rest on predictions of single "
        "rows. {cure}.",
        cure=REST,
    )
