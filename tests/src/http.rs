//! A small HTTP client for the doors: one kept connection, one request at a time.
//!
//! It reports a lost connection as an error instead of hiding it behind a retry, because drills kill the daemon and
//! must see what was and was not answered.

use std::io;
use std::path::Path;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};

/// What a door answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body, as it came.
    pub body: String,
}

impl Answer {
    /// The body as JSON; `Null` if it is not.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The problem's `code`, if the body is one.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        self.json().get("code").and_then(|code| code.as_str()).map(str::to_owned)
    }
}

/// One kept connection.
pub struct Connection {
    runtime: Runtime,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Connects to a TCP door.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn tcp(address: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stream = runtime.block_on(TcpStream::connect(address))?;
        Self::over(runtime, stream)
    }

    /// Connects to a Unix socket door.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn unix(path: &Path) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stream = runtime.block_on(UnixStream::connect(path))?;
        Self::over(runtime, stream)
    }

    fn over<S>(runtime: Runtime, stream: S) -> io::Result<Self>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            runtime.block_on(handshake(TokioIo::new(stream))).map_err(io::Error::other)?;
        runtime.spawn(async move {
            // The request that was under way reports the loss; the connection's own error adds nothing.
            let _ = connection.await;
        });
        Ok(Self { runtime, sender })
    }

    /// Sends one request and reads the whole answer.
    ///
    /// # Errors
    /// The connection was lost before the answer was complete: the request may or may not have taken effect.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> io::Result<Answer> {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).map_err(io::Error::other)?;
        let sender = &mut self.sender;
        self.runtime.block_on(async {
            sender.ready().await.map_err(io::Error::other)?;
            let response = sender.send_request(request).await.map_err(io::Error::other)?;
            let status = response.status().as_u16();
            let bytes = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
            Ok(Answer { status, body: String::from_utf8_lossy(&bytes).into_owned() })
        })
    }
}
