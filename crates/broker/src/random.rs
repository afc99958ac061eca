//! Random numbers, which the system gives, or does not.

/// The system has no random numbers, at this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot draw random numbers: {0}")]
pub struct RandomError(pub getrandom::Error);

/// Fills bytes with the system's random numbers.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), RandomError> {
    getrandom::fill(bytes).map_err(RandomError)
}
