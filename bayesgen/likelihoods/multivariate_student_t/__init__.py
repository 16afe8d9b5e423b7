"""Numbers that go together, some rows of them wild: a multivariate t per class."""

from bayesgen.likelihoods.multivariate_student_t.likelihood import (
    MultivariateStudentT as MultivariateStudentT,
)
