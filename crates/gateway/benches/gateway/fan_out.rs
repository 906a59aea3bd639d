//! Plain TCP connections that all get the same bytes: the cost of a broadcast without any protocol around it.

use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// One side writes to every connection in turn; on the other, a task per connection signals when it has read a message.
pub(crate) struct FanOut {
    writers: Vec<TcpStream>,
    message: Vec<u8>,
    pub(crate) arrivals: mpsc::UnboundedReceiver<Instant>,
}

impl FanOut {
    pub(crate) async fn connect(count: usize, message: Vec<u8>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let mut writers = Vec::with_capacity(count);
        for _ in 0..count {
            let mut reader = TcpStream::connect(address).await?;
            let (writer, _) = listener.accept().await?;
            // The gateway sends without delay too, so Nagle's algorithm must not slow down the baseline.
            writer.set_nodelay(true)?;
            writers.push(writer);
            let arrived = arrived.clone();
            let mut buffer = vec![0; message.len()];
            tokio::spawn(async move {
                while reader.read_exact(&mut buffer).await.is_ok() {
                    let _ = arrived.send(Instant::now());
                }
            });
        }
        Ok(Self { writers, message, arrivals })
    }

    pub(crate) async fn send(&mut self) -> anyhow::Result<()> {
        for writer in &mut self.writers {
            writer.write_all(&self.message).await?;
        }
        Ok(())
    }
}
