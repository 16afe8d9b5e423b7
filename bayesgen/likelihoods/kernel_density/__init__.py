"""Kernel densities: rows that were seen, slightly blurred."""

from bayesgen.likelihoods.kernel_density.learnt import LearntKernelDensity as LearntKernelDensity
from bayesgen.likelihoods.kernel_density.likelihood import KernelDensity as KernelDensity
