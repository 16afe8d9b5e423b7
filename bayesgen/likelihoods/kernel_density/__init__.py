"""Kernel densities: rows that were seen, slightly blurred."""

from bayesgen.likelihoods.kernel_density.bandwidth_posterior import (
    LearnedKernelDensity as LearnedKernelDensity,
)
from bayesgen.likelihoods.kernel_density.likelihood import KernelDensity as KernelDensity
