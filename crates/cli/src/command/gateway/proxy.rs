//! `serve --stdio` beside a running gateway: forwards all messages in both directions.

use std::path::Path;
use std::pin::pin;

use client::{ClientError, Target};
use rpc::{ConnectionLimits, Endpoint, Frame, Inbound, stdio, websocket};
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::failure::{Exit, Failure};

/// Id of our own last request. Requests are answered in order, so its answer means that all others were answered.
const LAST_ID: &str = "foreword serve --stdio: last";

/// Connects to the gateway that runs on a data directory.
pub(crate) async fn connect(data: &Path, limits: &ConnectionLimits) -> Result<Endpoint, ClientError> {
    let located = Target::Local { data: data.to_owned() }.locate()?;
    let url = located.websocket_url();
    Ok(websocket::connect(&url, located.token.expose_secret(), limits).await?)
}

/// Forwards messages until the parent closes its end or `stop` completes, and then until all are answered.
pub(crate) async fn run(
    mut gateway: Endpoint,
    limits: &ConnectionLimits,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let (mut parent, written) = stdio::endpoint(tokio::io::stdin(), tokio::io::stdout(), limits);
    let passed = pass_on(&mut parent, &mut gateway, stop).await;
    // Everything has been passed on. Waiting for the writer makes sure that the last answers are flushed.
    parent.outgoing.close(rpc::CloseReason::Finished);
    let _ = written.await;
    passed
}

async fn pass_on(
    parent: &mut Endpoint,
    gateway: &mut Endpoint,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut stop = pin!(stop);
    let mut asking = true;
    loop {
        tokio::select! {
            inbound = async {
                tokio::select! {
                    inbound = parent.incoming.recv() => inbound,
                    () = &mut stop => None,
                }
            }, if asking => match inbound {
                Some(Inbound::Text(frame)) => {
                    gateway.outgoing.send(frame).await;
                }
                // The gateway never sees a message that cannot be read, so it is answered here.
                Some(Inbound::Refused(error) | Inbound::Fatal(error, _)) => {
                    parent.outgoing.send(rpc::error_frame(&error)).await;
                }
                None => {
                    // The parent sends no more requests, but some may still be unanswered. This one is answered after
                    // all of them.
                    asking = false;
                    let last = json!({ "jsonrpc": "2.0", "id": LAST_ID, "method": "initialize" });
                    gateway.outgoing.send(Frame::from(last.to_string())).await;
                }
            },
            inbound = gateway.incoming.recv() => match inbound {
                Some(Inbound::Text(frame)) => {
                    // Either everything has been answered, or the parent no longer reads.
                    if !asking && answers_last(&frame) || !parent.outgoing.send(frame).await {
                        return Ok(());
                    }
                }
                Some(_) => {}
                None => return Err(Failure::new(Exit::Failed, "the gateway closed the connection")),
            },
        }
    }
}

fn answers_last(frame: &Frame) -> bool {
    #[derive(serde::Deserialize)]
    struct Answer {
        id: String,
    }
    serde_json::from_str::<Answer>(frame.as_str()).is_ok_and(|answer| answer.id == LAST_ID)
}
