"""Tables that lectures on generative classification compute with, a loader for each."""

from bayesgen.datasets.reading import load
from bayesgen.typing import DataFrame, Series


def load_biopsy() -> tuple[DataFrame, Series]:
    """Nine marks given to cells of 699 breast tumours, benign or malignant.

    699 rows; V1 to V9 are marks from 1 to 10 (V1 clump thickness, V2 and V3 uniformity of cell size
    and shape, V4 marginal adhesion, V5 epithelial cell size, V6 bare nuclei, V7 bland chromatin,
    V8 normal nucleoli, V9 mitoses); 16 missing values, all in V6. Classes: benign 458, malignant
    241.

    Source: W. H. Wolberg and O. L. Mangasarian (1990), PNAS 87, 9193-9196; Breast Cancer Wisconsin
    (Original) of the UCI repository, as `biopsy` in the R package MASS.

    Returns:
        X: pandas DataFrame, 699 rows, 9 columns.
        y: pandas Series of text named "class", 699 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_biopsy()
        >>> X.isna().sum().sum().item(), y.value_counts().to_dict()
        (16, {'benign': 458, 'malignant': 241})
    """
    return load("biopsy")


def load_bow4() -> tuple[DataFrame, Series]:
    """Four documents as words present (1) or not (0): Science or History?

    4 rows, 4 columns (king, food, equals, proof), no missing values. Classes: History 1, Science 3.
    The lecture's question is a document that has the words equals and proof.

    Source: typed in from a lecture on bags of words.

    Returns:
        X: pandas DataFrame, 4 rows, 4 columns of 0 and 1.
        y: pandas Series of text named "label", 4 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_bow4()
        >>> [" ".join(X.columns[row == 1]) for row in X.to_numpy()]
        ['food equals proof', 'equals', 'king food proof', 'king equals proof']
    """
    return load("bow4")


def load_housevotes84() -> tuple[DataFrame, Series]:
    """Votes of the 435 members of the House of Representatives in 1984, and their party.

    435 rows, 16 text columns (V1 to V16: y, n), 392 missing values where a member's stand is not
    known.
    Classes: democrat 267, republican 168.

    Source: Congressional Quarterly Almanac 98 (1985); Congressional Voting Records of the UCI
    repository (J. Schlimmer), as `HouseVotes84` in the R package mlbench.

    Returns:
        X: pandas DataFrame, 435 rows, 16 columns.
        y: pandas Series of text named "Class", 435 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_housevotes84()
        >>> X["V1"].value_counts(dropna=False).to_list()
        [236, 187, 12]
    """
    return load("housevotes84")


def load_spam() -> tuple[DataFrame, Series]:
    """Frequencies of words and signs in 4601 e-mails of 1998, spam or not.

    4601 rows, 57 numeric columns without missing values: 48 words and 6 signs in per cent of all
    words or signs of the mail (three quarters of these cells are 0), and the mean, largest and
    total length of runs of capital letters. Classes: nonspam 2788, spam 1813. The mails are those
    of one person: `george` and `num650`, his name and telephone code, mark what is no spam.

    Source: M. Hopkins, E. Reeber, G. Forman and J. Suermondt (1999), Spambase, UCI repository, as
    `spam` in the R package kernlab.

    Returns:
        X: pandas DataFrame, 4601 rows, 57 columns.
        y: pandas Series of text named "type", 4601 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_spam()
        >>> X.shape, y.value_counts().to_dict()
        ((4601, 57), {'nonspam': 2788, 'spam': 1813})
    """
    return load("spam")


def load_voters() -> tuple[DataFrame, Series]:
    """Eight voters, their last vote, income and state, and whom they voted for in 2016.

    8 rows: Voted2012 (Y, N) and State are text, IncomeK is in thousands of dollars; no missing
    values.
    Classes: Clinton 4, Johnson 1, Trump 3. The lecture's question is a voter with Voted2012 N,
    IncomeK 100, State NY.

    Source: typed in from the rows that a lecture shows of a larger table.

    Returns:
        X: pandas DataFrame, 8 rows, 3 columns.
        y: pandas Series of text named "Candidate", 8 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_voters()
        >>> X["IncomeK"].to_list()
        [50, 173, 80, 150, 25, 85, 1050, 35]
    """
    return load("voters")


def load_voters_missing() -> tuple[DataFrame, Series]:
    """The eight voters of `load_voters` with three missing values: two in Voted2012, one in State.

    Source: typed in from a lecture on missing values.

    Returns:
        X: pandas DataFrame, 8 rows, 3 columns.
        y: pandas Series of text named "Candidate", 8 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_voters_missing()
        >>> X.isna().sum().to_dict()
        {'Voted2012': 2, 'IncomeK': 0, 'State': 1}
    """
    return load("voters_missing")
