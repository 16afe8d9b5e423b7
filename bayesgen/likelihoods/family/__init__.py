"""Any univariate NumPyro distribution as the likelihood of columns."""

from bayesgen.likelihoods.family.likelihood import Family as Family
