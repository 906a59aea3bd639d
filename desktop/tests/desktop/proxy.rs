//! A proxy that can hold back answers of a gateway and cut its connections.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    address: SocketAddr,
    /// Holds back data from the gateway while true; data to it still passes.
    held: Arc<watch::Sender<bool>>,
    /// Number of times that all connections were cut.
    cuts: Arc<watch::Sender<u64>>,
    _runtime: tokio::runtime::Runtime,
}

impl Proxy {
    /// Listens and forwards everything to the gateway at a base address.
    pub(crate) fn to(url: &str) -> Self {
        let gateway: SocketAddr = url.strip_prefix("http://").unwrap().parse().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let held = Arc::new(watch::Sender::new(false));
        let cuts = Arc::new(watch::Sender::new(0));
        let is_held = Arc::clone(&held);
        let is_cut = Arc::clone(&cuts);
        runtime.spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let is_held = is_held.subscribe();
                let mut is_cut = is_cut.subscribe();
                tokio::spawn(async move {
                    let Ok(far) = TcpStream::connect(gateway).await else { return };
                    let (near_read, near_write) = near.into_split();
                    let (far_read, far_write) = far.into_split();
                    tokio::select! {
                        () = pass(near_read, far_write, None) => {}
                        () = pass(far_read, near_write, Some(is_held)) => {}
                        _ = is_cut.changed() => {}
                    }
                });
            }
        });
        Self { address, held, cuts, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn hold(&self) {
        self.held.send_replace(true);
    }

    pub(crate) fn release(&self) {
        self.held.send_replace(false);
    }

    /// Ends every connection and discards data that is held back.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut held: Option<watch::Receiver<bool>>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
        // Data is held back after it was read, so the gateway considers it delivered.
        if let Some(held) = &mut held
            && held.wait_for(|held| !held).await.is_err()
        {
            return;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
