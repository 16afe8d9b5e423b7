"""Normal kernels at the training rows: column by column, or of all columns together."""

from bayesgen.likelihoods.kernels.density import KernelDensity as KernelDensity
from bayesgen.likelihoods.kernels.discriminant import KernelDiscriminant as KernelDiscriminant
