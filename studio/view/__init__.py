"""The window: the only part of the project that knows Dear PyGui. What it shows and does lies in `studio`, without a window."""
