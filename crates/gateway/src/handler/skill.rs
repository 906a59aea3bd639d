//! `skill/…`.

use protocol::error::ErrorObject;
use protocol::method::{SkillGetParams, SkillGetResult, SkillListParams, SkillListResult};

use crate::error::from_agent;
use crate::router::Context;

pub(crate) async fn list(context: Context, params: SkillListParams) -> Result<SkillListResult, ErrorObject> {
    context.shared.agent.list_skills(params).await.map_err(from_agent)
}

pub(crate) async fn get(context: Context, params: SkillGetParams) -> Result<SkillGetResult, ErrorObject> {
    let skill = context.shared.agent.get_skill(params).await.map_err(from_agent)?;
    Ok(SkillGetResult { skill })
}
