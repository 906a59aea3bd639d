//! `serve --stdio` beside a running gateway: every line goes to it, every answer comes back.

use std::path::Path;

use client::Target;
use rpc::{Inbound, Limits, stdio, websocket};
use secrecy::ExposeSecret as _;

use crate::failure::{Exit, Failure};

/// Passes messages on until either side ends.
pub(crate) async fn run(data: &Path) -> Result<Exit, Failure> {
    let located = Target::Local { data: data.to_owned() }.locate()?;
    let limits = Limits::default();
    let mut far = websocket::connect(&located.websocket_url(), located.token.expose_secret(), &limits)
        .await
        .map_err(client::ClientError::from)?;
    let (mut near, written) = stdio::endpoint(tokio::io::stdin(), tokio::io::stdout(), &limits);
    let mut asking = true;
    loop {
        tokio::select! {
            inbound = near.incoming.recv(), if asking => match inbound {
                Some(Inbound::Text(frame)) => {
                    far.outgoing.send(frame).await;
                }
                Some(Inbound::Refused(error) | Inbound::Fatal(error, _)) => {
                    near.outgoing.send(rpc::error_frame(&error)).await;
                }
                // The gateway answers what it was asked before it sees the close.
                None => {
                    asking = false;
                    far.outgoing.close(rpc::CloseReason::Finished);
                }
            },
            inbound = far.incoming.recv() => match inbound {
                Some(Inbound::Text(frame)) => {
                    if !near.outgoing.send(frame).await {
                        break;
                    }
                }
                Some(_) => {}
                None if asking => {
                    return Err(Failure::new(Exit::Failed, "the gateway closed the connection"));
                }
                None => break,
            },
        }
    }
    near.outgoing.close(rpc::CloseReason::Finished);
    let _ = written.await;
    Ok(Exit::Done)
}
