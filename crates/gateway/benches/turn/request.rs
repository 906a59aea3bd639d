//! A request recorded from a gateway, for use with the provider crate alone.

use anyhow::Context as _;
use protocol::ToolSpec;
use provider::{Block, ChatRequest, Message, Provider, SystemParts};
use scripted_model::ScriptedModel;
use serde_json::Value;

/// The last request to a model, and the text of its body.
pub(crate) struct Same {
    pub(crate) request: ChatRequest,
    pub(crate) body: String,
}

impl Same {
    /// Reads the last request, and sends it once to verify that it is reproduced exactly.
    pub(crate) async fn as_last(model: &ScriptedModel, provider: &Provider) -> anyhow::Result<Self> {
        let sent = last(model)?;
        let request = read(&sent).context("the body of a request is not what it was")?;
        provider.complete(&request).await?;
        anyhow::ensure!(last(model)? == sent, "the provider crate alone asks something else");
        Ok(Self { request, body: sent.to_string() })
    }
}

fn last(model: &ScriptedModel) -> anyhow::Result<Value> {
    Ok(model.requests().pop().context("the model was not asked")?.body)
}

/// Reads a request from its body in Anthropic's format.
fn read(body: &Value) -> Option<ChatRequest> {
    let messages = body["messages"].as_array()?.iter().map(|message| {
        let blocks = texts(&message["content"])?.into_iter().map(Block::text).collect();
        match message["role"].as_str()? {
            "assistant" => Some(Message::assistant(blocks)),
            _ => Some(Message { blocks, ..Message::user("") }),
        }
    });
    let mut request = ChatRequest::new(body["model"].as_str()?, messages.collect::<Option<_>>()?);
    let mut system = texts(&body["system"])?.into_iter();
    request.system =
        SystemParts { stable: system.next().unwrap_or_default(), session: system.next().unwrap_or_default() };
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice).iter().map(|tool| {
        let name = tool["name"].as_str()?.to_owned();
        let description = tool["description"].as_str()?.to_owned();
        Some(ToolSpec { name, description, schema: tool["input_schema"].clone() })
    });
    request.tools = tools.collect::<Option<_>>()?;
    request.max_output_tokens = u32::try_from(body["max_tokens"].as_u64()?).ok()?;
    Some(request)
}

fn texts(blocks: &Value) -> Option<Vec<String>> {
    blocks.as_array()?.iter().map(|block| Some(block["text"].as_str()?.to_owned())).collect()
}
