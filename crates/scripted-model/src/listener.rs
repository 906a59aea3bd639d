//! A listener that can drop connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};

pub(crate) struct DroppingListener {
    inner: TcpListener,
    to_drop: Arc<AtomicUsize>,
}

impl DroppingListener {
    pub(crate) async fn bind(to_drop: Arc<AtomicUsize>) -> io::Result<Self> {
        Ok(Self { inner: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?, to_drop })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl axum::serve::Listener for DroppingListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = axum::serve::Listener::accept(&mut self.inner).await;
            // `checked_sub` turns zero into an error, so a single atomic step both tests and decrements the counter.
            // The accepted stream is dropped with the loop's turn, and the client sees a connection that closes before
            // any answer.
            let less = |count: usize| count.checked_sub(1);
            if self.to_drop.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_err() {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}
