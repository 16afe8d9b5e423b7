"""Kernel discriminant: a normal kernel at every training row, mixed with a broad Student t."""

from bayesgen.likelihoods.kernel_discriminant.likelihood import (
    KernelDiscriminant as KernelDiscriminant,
)
