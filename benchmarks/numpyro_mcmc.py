"""numpyro's own sampler, as one would call it: the other side of what bayesgen samples."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import bayesgen as bg

if TYPE_CHECKING:
    from numpyro.infer import MCMC


def numpyro_mcmc(story: Callable, sampler: bg.NUTS, seed: int) -> "MCMC":
    """Return `numpyro.infer.MCMC` after its run in float64, with the sampler's draws and chains."""
    import jax
    from numpyro.infer import MCMC, NUTS

    with jax.enable_x64(True):
        mcmc = MCMC(
            NUTS(story),
            num_warmup=sampler.warmup,
            num_samples=sampler.draws,
            num_chains=sampler.chains,
            chain_method="vectorized",
            progress_bar=False,
        )
        mcmc.run(jax.random.key(seed), extra_fields=("num_steps",))
        jax.block_until_ready(mcmc.get_samples())
    return mcmc
