"""A user's own NumPyro program as a story: its form, its densities, what a sampler sees of it."""

from bayesgen.user_story.form import Facts as Facts
from bayesgen.user_story.form import examine as examine
from bayesgen.user_story.program import SINGLE as SINGLE
from bayesgen.user_story.program import Arrays as Arrays
from bayesgen.user_story.program import UserStory as UserStory
from bayesgen.user_story.simulation import log_priors as log_priors
from bayesgen.user_story.simulation import prior as prior
from bayesgen.user_story.simulation import simulate as simulate
from bayesgen.user_story.simulation import sizes_of as sizes_of
from bayesgen.user_story.target import StoryTarget as StoryTarget
