"""Sentences about texts and the words in them."""

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, rows, shown


class InvalidTexts(BayesgenError, ValueError):
    """Something is no list of texts."""

    @classmethod
    def one_text(cls, text: object) -> "InvalidTexts":
        """X is a text."""
        start = text[:30] if isinstance(text, str | bytes) else text
        return cls(f"X is one text, {shown(start)}; a list of texts is needed. Pass [X].")

    @classmethod
    def missing(cls, count: Count, n_rows: Count) -> "InvalidTexts":
        """Texts are None or NaN."""
        return cls(
            f"X holds no text (None or NaN) in {count:,} of {rows(n_rows)}; every row needs one, "
            'if an empty one. Pass X.fillna(""), or leave these rows out.'
        )

    @classmethod
    def mixed(cls, found: str, count: Count, n_rows: Count) -> "InvalidTexts":
        """Something else stands among texts."""
        return cls(
            f"X holds something of type {found} among texts, in {count:,} of {rows(n_rows)}; texts "
            "only are allowed, or counts only. Pass [str(text) for text in X]."
        )

    @classmethod
    def column(cls, name: object) -> "InvalidTexts":
        """A frame has one column of texts."""
        return cls(
            f"X is a frame whose one column, {shown(name)}, holds texts; a list or a Series of "
            f"them is needed. Pass X[{shown(name)}]."
        )

    @classmethod
    def fitted_to_counts(cls, estimator: str) -> "InvalidTexts":
        """Texts to predict, and no vocabulary."""
        return cls(
            f"X holds texts, and this {estimator} was fitted to counts: it knows no words. Fit it "
            "to texts, or pass the counts of the vectorizer that made those."
        )

    @classmethod
    def no_words(cls, n_rows: Count) -> "InvalidTexts":
        """The vectorizer found no word."""
        return cls(
            f"X has no word in {rows(n_rows)}: the texts are empty, or hold stop words and single "
            "letters only. Pass a vectorizer that keeps what they hold, for example "
            'BagOfWords(vectorizer=CountVectorizer(token_pattern=r"\\S+")).'
        )


class EmptyDocuments(BayesgenWarning):
    """Rows without a word that fitting saw."""

    @classmethod
    def counts(cls, count: Count, n_rows: Count) -> "EmptyDocuments":
        """`count` of `n_rows` rows are answered by the class prior."""
        return cls(
            f"{count:,} of {rows(n_rows)} hold no word that fitting saw; they get the class prior."
        )

    @classmethod
    def presence(cls, count: Count, n_rows: Count) -> "EmptyDocuments":
        """`count` of `n_rows` rows are answered by the words that they lack."""
        return cls(
            f"{count:,} of {rows(n_rows)} hold no word that fitting saw; their answers rest on the "
            "words that they lack, which binary=True takes for evidence. Use binary=False for the "
            "class prior."
        )
