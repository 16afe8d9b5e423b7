"""One loader for each bundled table, with what it holds and where it comes from."""

from bayesgen.datasets.reading import load
from bayesgen.typing import DataFrame, Series


def load_crabs() -> tuple[DataFrame, Series]:
    """Five body lengths of 200 Leptograpsus crabs; the class is colour form and sex.

    200 rows, 5 numeric columns in millimetres (FL frontal lobe, RW rear width, CL carapace length,
    CW carapace width, BD body depth), no missing values. Classes: BF, BM, OF, OM (blue or orange;
    female or male), 50 rows each. The columns are correlated above .88, so naive Bayes is
    overconfident here.

    Source: N. A. Campbell and R. J. Mahon (1974), Australian Journal of Zoology 22, 417-425.

    Returns:
        X: pandas DataFrame, 200 rows, 5 columns.
        y: pandas Series of text named "class", 200 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_crabs()
        >>> X.shape, sorted(set(y))
        ((200, 5), ['BF', 'BM', 'OF', 'OM'])
    """
    return load("crabs")


def load_iris() -> tuple[DataFrame, Series]:
    """Sepal and petal sizes of 150 iris flowers of three species.

    150 rows, 4 numeric columns in centimetres, no missing values. Classes: setosa, versicolor,
    virginica, 50 rows each. The numbers are Fisher's (the same as in R and scikit-learn; the copy
    in the UCI repository differs in two rows).

    Source: R. A. Fisher (1936), Annals of Eugenics 7, 179-188; measured by E. Anderson (1935).

    Returns:
        X: pandas DataFrame, 150 rows, 4 columns.
        y: pandas Series of text named "species", 150 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_iris()
        >>> list(X)
        ['sepal_length', 'sepal_width', 'petal_length', 'petal_width']
    """
    return load("iris")


def load_penguins() -> tuple[DataFrame, Series]:
    """Island, sex and body measurements of 344 penguins of three species near Palmer Station.

    344 rows; island and sex are text, two bill sizes and the flipper length are in millimetres, the
    body mass is in grams. 19 missing values: 11 in sex, 2 in each number. Classes: Adelie 152,
    Chinstrap 68, Gentoo 124.

    Source: K. B. Gorman, T. D. Williams and W. R. Fraser (2014), PLoS ONE 9(3), e90081; table
    `penguins` of the R package palmerpenguins without its column `year`.

    Returns:
        X: pandas DataFrame, 344 rows, 6 columns.
        y: pandas Series of text named "species", 344 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_penguins()
        >>> int(X.isna().sum().sum())
        19
    """
    return load("penguins")


def load_play_tennis() -> tuple[DataFrame, Series]:
    """Fourteen days of weather, and whether tennis was played.

    14 rows, 4 text columns (Outlook, Temperature, Humidity, Wind), no missing values. Classes: No
    5, Yes 9.

    Source: J. R. Quinlan (1986), Machine Learning 1, 81-106; T. M. Mitchell (1997), Machine
    Learning, table 3.2, without the column that numbers the days.

    Returns:
        X: pandas DataFrame, 14 rows, 4 columns.
        y: pandas Series of text named "PlayTennis", 14 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_play_tennis()
        >>> X.iloc[0].to_list(), y.iloc[0]
        (['Sunny', 'Hot', 'High', 'Weak'], 'No')
    """
    return load("play_tennis")


def load_titanic() -> tuple[DataFrame, Series]:
    """All 2201 people aboard the Titanic by class, sex and age group, and who survived.

    2201 rows, 3 text columns: Class (1st, 2nd, 3rd, Crew), Sex (Male, Female), Age (Child, Adult);
    no missing values. Classes: No 1490, Yes 711.

    Source: R. J. MacG. Dawson (1995), Journal of Statistics Education 3(3), after the British Board
    of Trade inquiry (1912); one row for each person counted in R's table `Titanic`.

    Returns:
        X: pandas DataFrame, 2201 rows, 3 columns.
        y: pandas Series of text named "Survived", 2201 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_titanic()
        >>> y.value_counts().to_dict()
        {'No': 1490, 'Yes': 711}
    """
    return load("titanic")


def load_titanic_passengers() -> tuple[DataFrame, Series]:
    """The 1309 passengers of the Titanic, mixed columns with missing ages, and who survived.

    1309 rows; sex (female, male) and passengerClass (1st, 2nd, 3rd) are text, age is in years with
    263 missing values. Classes: no 809, yes 500. The crew is not in this table.

    Source: F. E. Harrell's table `titanic3` after the Encyclopedia Titanica, as `TitanicSurvival`
    in the R package carData, without the passengers' names.

    Returns:
        X: pandas DataFrame, 1309 rows, 3 columns.
        y: pandas Series of text named "survived", 1309 rows.

    Examples:
        >>> from bayesgen import datasets
        >>> X, y = datasets.load_titanic_passengers()
        >>> X.isna().sum().to_dict()
        {'sex': 0, 'age': 263, 'passengerClass': 0}
    """
    return load("titanic_passengers")
