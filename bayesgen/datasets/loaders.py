"""Loaders of the bundled data sets: names, files and targets."""

from pathlib import Path

from bayesgen.errors import InvalidArgument
from bayesgen.typing import DataFrame, Series

_TARGETS = {
    "biopsy": "class",
    "bow4": "label",
    "crabs": "class",
    "housevotes84": "Class",
    "iris": "species",
    "penguins": "species",
    "play_tennis": "PlayTennis",
    "spam": "type",
    "titanic": "Survived",
    "titanic_passengers": "survived",
    "voters": "Candidate",
    "voters_missing": "Candidate",
}
_COMPRESSED = ("spam",)


def names() -> tuple[str, ...]:
    """Return the names of the bundled data sets, sorted.

    Examples:
        >>> from bayesgen import datasets
        >>> datasets.names()[:6]
        ('biopsy', 'bow4', 'crabs', 'housevotes84', 'iris', 'penguins')
    """
    return tuple(_TARGETS)


def target(name: str) -> str:
    """Return the name of the column that holds the classes of a bundled data set.

    Args:
        name: one of `names()`.

    Raises:
        InvalidArgument: no bundled data set has this name.

    Examples:
        >>> from bayesgen import datasets
        >>> datasets.target("titanic_passengers")
        'survived'
    """
    if name not in _TARGETS:
        raise InvalidArgument(
            "there is no bundled data set {name!r}; choose one of {existing:listed 99}.",
            name=name,
            existing=names(),
        )
    return _TARGETS[name]


def path(name: str) -> Path:
    """Return the path of a bundled CSV file; its first line names the columns, classes included.

    A large one is compressed and ends in .csv.gz, which pandas, polars and pyarrow read as well.

    Args:
        name: one of `names()`.

    Raises:
        InvalidArgument: no bundled data set has this name.

    Examples:
        >>> from bayesgen import datasets
        >>> datasets.path("iris").name
        'iris.csv'
    """
    target(name)
    return Path(__file__).parent / f"{name}.csv{'.gz' if name in _COMPRESSED else ''}"


def load_biopsy() -> tuple[DataFrame, Series]:
    """Nine marks given to cells of 699 breast tumors, benign or malignant.

    699 rows; V1 to V9 are marks from 1 to 10 (V1 clump thickness, V2 and V3 uniformity of cell size
    and shape, V4 marginal adhesion, V5 epithelial cell size, V6 bare nuclei, V7 bland chromatin,
    V8 normal nucleoli, V9 mitoses); 16 missing values, all in V6. Classes: benign 458, malignant
    241.

    Source: W. H. Wolberg and O. L. Mangasarian (1990), PNAS 87, 9193-9196; Breast Cancer Wisconsin
    (Original) of the UCI repository, as `biopsy` in the R package MASS.

    Returns:
        X, a pandas DataFrame of 699 rows and 9 columns, and y, a Series of text named "class".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_biopsy()
        >>> X.isna().sum().sum().item(), y.value_counts().to_dict()
        (16, {'benign': 458, 'malignant': 241})
    """
    return _load("biopsy")


def load_bow4() -> tuple[DataFrame, Series]:
    """Four documents as words present (1) or not (0): Science or History?

    4 rows, 4 columns (king, food, equals, proof), no missing values. Classes: History 1, Science 3.
    The lecture's question is a document that has the words equals and proof.

    Source: typed in from a lecture on bags of words.

    Returns:
        X, a pandas DataFrame of 4 rows and 4 columns of 0 and 1, and y, a Series
        of text named "label".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_bow4()
        >>> [" ".join(X.columns[row == 1]) for row in X.to_numpy()]
        ['food equals proof', 'equals', 'king food proof', 'king equals proof']
    """
    return _load("bow4")


def load_crabs() -> tuple[DataFrame, Series]:
    """Five body lengths of 200 Leptograpsus crabs; the class is color form and sex.

    200 rows, 5 numeric columns in millimeters (FL frontal lobe, RW rear width, CL carapace length,
    CW carapace width, BD body depth), no missing values. Classes: BF, BM, OF, OM (blue or orange;
    female or male), 50 rows each. The columns are correlated above .88, so naive Bayes is
    overconfident here.

    Source: N. A. Campbell and R. J. Mahon (1974), Australian Journal of Zoology 22, 417-425.

    Returns:
        X, a pandas DataFrame of 200 rows and 5 columns, and y, a Series of text named "class".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_crabs()
        >>> X.shape, sorted(set(y))
        ((200, 5), ['BF', 'BM', 'OF', 'OM'])
    """
    return _load("crabs")


def load_housevotes84() -> tuple[DataFrame, Series]:
    """Votes of the 435 members of the House of Representatives in 1984, and their party.

    435 rows, 16 text columns (V1 to V16: y, n), 392 missing values where a member's position is
    unknown.
    Classes: democrat 267, republican 168.

    Source: Congressional Quarterly Almanac 98 (1985); Congressional Voting Records of the UCI
    repository (J. Schlimmer), as `HouseVotes84` in the R package mlbench.

    Returns:
        X, a pandas DataFrame of 435 rows and 16 columns, and y, a Series of text named "Class".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_housevotes84()
        >>> X["V1"].value_counts(dropna=False).to_list()
        [236, 187, 12]
    """
    return _load("housevotes84")


def load_iris() -> tuple[DataFrame, Series]:
    """Sepal and petal sizes of 150 iris flowers of three species.

    150 rows, 4 numeric columns in centimeters, no missing values. Classes: setosa, versicolor,
    virginica, 50 rows each. The numbers are Fisher's (the same as in R and scikit-learn; the copy
    in the UCI repository differs in two rows).

    Source: R. A. Fisher (1936), Annals of Eugenics 7, 179-188; measured by E. Anderson (1935).

    Returns:
        X, a pandas DataFrame of 150 rows and 4 columns, and y, a Series of text named "species".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_iris()
        >>> list(X)
        ['sepal_length', 'sepal_width', 'petal_length', 'petal_width']
    """
    return _load("iris")


def load_penguins() -> tuple[DataFrame, Series]:
    """Island, sex and body measurements of 344 penguins of three species near Palmer Station.

    344 rows; island and sex are text, two bill sizes and the flipper length are in millimeters, the
    body mass is in grams. 19 missing values: 11 in sex, 2 in each number. Classes: Adelie 152,
    Chinstrap 68, Gentoo 124.

    Source: K. B. Gorman, T. D. Williams and W. R. Fraser (2014), PLoS ONE 9(3), e90081; table
    `penguins` of the R package palmerpenguins without its column `year`.

    Returns:
        X, a pandas DataFrame of 344 rows and 6 columns, and y, a Series of text named "species".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_penguins()
        >>> int(X.isna().sum().sum())
        19
    """
    return _load("penguins")


def load_play_tennis() -> tuple[DataFrame, Series]:
    """Fourteen days of weather, and whether tennis was played.

    14 rows, 4 text columns (Outlook, Temperature, Humidity, Wind), no missing values. Classes: No
    5, Yes 9.

    Source: J. R. Quinlan (1986), Machine Learning 1, 81-106; T. M. Mitchell (1997), Machine
    Learning, table 3.2, without the column that numbers the days.

    Returns:
        X, a pandas DataFrame of 14 rows and 4 columns, and y, a Series of text named "PlayTennis".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_play_tennis()
        >>> X.iloc[0].to_list(), y.iloc[0]
        (['Sunny', 'Hot', 'High', 'Weak'], 'No')
    """
    return _load("play_tennis")


def load_spam() -> tuple[DataFrame, Series]:
    """Frequencies of words and signs in 4601 e-mails of 1998, spam or not.

    4601 rows, 57 numeric columns without missing values: 48 words and 6 signs in percent of all
    words or signs of the e-mail (three quarters of these cells are 0), and the mean, largest and
    total length of runs of capital letters. Classes: nonspam 2788, spam 1813. The e-mails were
    received by one person: `george` and `num650`, his name and area code, indicate e-mails that are
    not spam.

    Source: M. Hopkins, E. Reeber, G. Forman and J. Suermondt (1999), Spambase, UCI repository, as
    `spam` in the R package kernlab.

    Returns:
        X, a pandas DataFrame of 4601 rows and 57 columns, and y, a Series of text named "type".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_spam()
        >>> X.shape, y.value_counts().to_dict()
        ((4601, 57), {'nonspam': 2788, 'spam': 1813})
    """
    return _load("spam")


def load_titanic() -> tuple[DataFrame, Series]:
    """All 2201 people aboard the Titanic by class, sex and age group, and who survived.

    2201 rows, 3 text columns: Class (1st, 2nd, 3rd, Crew), Sex (Male, Female), Age (Child, Adult);
    no missing values. Classes: No 1490, Yes 711.

    Source: R. J. MacG. Dawson (1995), Journal of Statistics Education 3(3), after the British Board
    of Trade inquiry (1912); one row for each person counted in R's table `Titanic`.

    Returns:
        X, a pandas DataFrame of 2201 rows and 3 columns, and y, a Series of text named "Survived".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_titanic()
        >>> y.value_counts().to_dict()
        {'No': 1490, 'Yes': 711}
    """
    return _load("titanic")


def load_titanic_passengers() -> tuple[DataFrame, Series]:
    """The 1309 passengers of the Titanic, mixed columns with missing ages, and who survived.

    1309 rows; sex (female, male) and passengerClass (1st, 2nd, 3rd) are text, age is in years with
    263 missing values. Classes: no 809, yes 500. The crew is not in this table.

    Source: F. E. Harrell's table `titanic3` after the Encyclopedia Titanica, as `TitanicSurvival`
    in the R package carData, without the passengers' names.

    Returns:
        X, a pandas DataFrame of 1309 rows and 3 columns, and y, a Series of text named "survived".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_titanic_passengers()
        >>> X.isna().sum().to_dict()
        {'sex': 0, 'age': 263, 'passengerClass': 0}
    """
    return _load("titanic_passengers")


def load_voters() -> tuple[DataFrame, Series]:
    """Eight voters, their last vote, income and state, and whom they voted for in 2016.

    8 rows: Voted2012 (Y, N) and State are text, IncomeK is in thousands of dollars; no missing
    values.
    Classes: Clinton 4, Johnson 1, Trump 3. The lecture's question is a voter with Voted2012 N,
    IncomeK 100, State NY.

    Source: transcribed from the rows of a larger table shown in a lecture.

    Returns:
        X, a pandas DataFrame of 8 rows and 3 columns, and y, a Series of text named "Candidate".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_voters()
        >>> X["IncomeK"].to_list()
        [50, 173, 80, 150, 25, 85, 1050, 35]
    """
    return _load("voters")


def load_voters_missing() -> tuple[DataFrame, Series]:
    """The eight voters of `load_voters` with three missing values: two in Voted2012, one in State.

    Source: typed in from a lecture on missing values.

    Returns:
        X, a pandas DataFrame of 8 rows and 3 columns, and y, a Series of text named "Candidate".

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_voters_missing()
        >>> X.isna().sum().to_dict()
        {'Voted2012': 2, 'IncomeK': 0, 'State': 1}
    """
    return _load("voters_missing")


def _load(name: str) -> tuple[DataFrame, Series]:
    """Return the features, a pandas DataFrame, and the classes, a pandas Series, of a table."""
    import pandas as pd

    frame = pd.read_csv(path(name))
    classes = frame.pop(target(name))
    return frame, classes
