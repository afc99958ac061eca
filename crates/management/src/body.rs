//! Reading a request's body: so many bytes, in so much time, and not too many bodies at once.

use std::future::Future;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::Body;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::limits::{BODIES_LEN_MAX, BODY_TIMEOUT};
use crate::problem::Problem;

/// Room for bodies, in units of [`UNIT_LEN`] bytes.
pub(crate) struct BodyBudget(Semaphore);

const UNIT_LEN: usize = 4096;

impl BodyBudget {
    pub(crate) fn new() -> BodyBudget {
        BodyBudget(Semaphore::new(BODIES_LEN_MAX / UNIT_LEN))
    }

    /// Reads a body of at most `len_max` bytes. The room that it takes is given back with the permit.
    pub(crate) async fn read<B: Body<Data = Bytes>>(
        &self,
        body: B,
        len_max: usize,
    ) -> Result<(Bytes, SemaphorePermit<'_>), Problem> {
        let len_max = len_max.min(BODIES_LEN_MAX);
        check_length(&body, len_max)?;
        in_time(async {
            let hint = body.size_hint();
            let len = hint.upper().and_then(|len| usize::try_from(len).ok()).unwrap_or(len_max).min(len_max);
            let units = u32::try_from(len.div_ceil(UNIT_LEN)).unwrap_or(u32::MAX);
            let permit =
                self.0.acquire_many(units).await.map_err(|_| Problem::bare(StatusCode::SERVICE_UNAVAILABLE))?;
            Ok((gather(body, len_max).await?, permit))
        })
        .await
    }
}

/// Reads a short body, of at most `len_max` bytes, for which nothing has to wait.
pub(crate) async fn read<B: Body<Data = Bytes>>(body: B, len_max: usize) -> Result<Bytes, Problem> {
    check_length(&body, len_max)?;
    in_time(gather(body, len_max)).await
}

fn check_length<B: Body>(body: &B, len_max: usize) -> Result<(), Problem> {
    if body.size_hint().lower() > len_max as u64 { Err(too_long()) } else { Ok(()) }
}

async fn in_time<T>(reading: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(result) => result,
        Err(_) => Err(Problem::bare(StatusCode::REQUEST_TIMEOUT)),
    }
}

async fn gather<B: Body<Data = Bytes>>(body: B, len_max: usize) -> Result<Bytes, Problem> {
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // Cut off: the client has disconnected.
        let frame = frame.map_err(|_| Problem::bare(StatusCode::BAD_REQUEST))?;
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() > len_max {
                return Err(too_long());
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole.freeze())
}

fn too_long() -> Problem {
    Problem::bad_request("Exceeded HTTP request body size limit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;

    #[tokio::test]
    async fn a_body_of_the_limit_is_read_and_a_longer_one_is_not() {
        let room = BodyBudget::new();
        let read =
            async |len: usize| room.read(Full::new(Bytes::from(vec![b'x'; len])), 10).await.map(|(b, _)| b.len());
        assert_eq!(read(10).await, Ok(10));
        assert_eq!(read(0).await, Ok(0));
        assert_eq!(read(11).await, Err(too_long()));
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_wait_for_room_and_not_for_ever() {
        let room = BodyBudget::new();
        let body = || Full::new(Bytes::from(vec![0; BODIES_LEN_MAX]));
        let first = room.read(body(), BODIES_LEN_MAX).await.unwrap();
        let second = room.read(body(), BODIES_LEN_MAX).await.map(|(body, _)| body.len());
        assert_eq!(second, Err(Problem::bare(StatusCode::REQUEST_TIMEOUT)));
        drop(first);
        assert!(room.read(body(), BODIES_LEN_MAX).await.is_ok());
    }
}
