//! Skill queries, and the check of the skills that a turn selects.

use futures_util::future::BoxFuture;
use protocol::limits::MAX_SKILL_LIST;
use protocol::method::{SkillGetParams, SkillListParams, SkillListResult};
use protocol::{Skill, SkillSummary, ThreadId, WorkspaceId};
use skills::{Activation, MAX_SKILLS};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::domains::skills::SkillLocation;
use crate::error::AgentError;
use crate::subject::PromptSubject;

impl Agent {
    /// Lists all skills of a location with their outcomes; empty if skills are disabled.
    pub fn list_skills(&self, params: SkillListParams) -> BoxFuture<'_, Result<SkillListResult, AgentError>> {
        Box::pin(async move {
            let SkillListParams { workspace_id, thread_id, cwd } = params;
            let found = self.skills_of(&workspace_id, thread_id.as_ref(), cwd.as_deref()).await;
            let activation = match found {
                Err(AgentError::SkillsOff) => {
                    let problems = vec![AgentError::SkillsOff.to_string()];
                    return Ok(SkillListResult { skills: Vec::new(), more: None, problems });
                }
                found => found?,
            };
            let mut skills = activation.summaries();
            let more =
                u64::try_from(skills.len().saturating_sub(MAX_SKILL_LIST)).ok().filter(|more| *more > 0);
            skills.truncate(MAX_SKILL_LIST);
            Ok(SkillListResult { skills, more, problems: problems(&activation) })
        })
    }

    /// Returns one skill of a location: the usable one with this slug, or else the nearest that is unusable.
    pub fn get_skill(&self, params: SkillGetParams) -> BoxFuture<'_, Result<Skill, AgentError>> {
        Box::pin(async move {
            let SkillGetParams { workspace_id, thread_id, cwd, slug } = params;
            let activation = self.skills_of(&workspace_id, thread_id.as_ref(), cwd.as_deref()).await?;
            blocking(move || activation.details(&slug).ok_or_else(|| unknown(&activation, slug))).await
        })
    }

    async fn skills_of(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: Option<&ThreadId>,
        cwd: Option<&str>,
    ) -> Result<Activation, AgentError> {
        let domain = self.skills.as_ref().ok_or(AgentError::SkillsOff)?;
        let workspace = match thread_id {
            Some(thread_id) => self.store.turn_subject(workspace_id, thread_id).await?.workspace,
            None => self.store.workspace(workspace_id).await?,
        };
        let session = match thread_id {
            Some(thread_id) => self.thread_session(workspace_id, thread_id).await?,
            None => None,
        };
        let directory = self.directory(&workspace, cwd).await?;
        // Paths touched by the thread activate skills, so the answer depends on its stored session.
        let touched = session.map(|stored| stored.state.touched.into_iter().collect()).unwrap_or_default();
        let root = directory.as_ref().and_then(|directory| directory.settings.bounds.workspace());
        let place = SkillLocation {
            root: root.map(std::path::Path::to_owned),
            cwd: directory.as_ref().map(|directory| directory.cwd.clone()),
            touched,
            selected: Vec::new(),
        };
        Ok(domain.activation(place).await)
    }

    /// Rejects a turn that selects an unusable skill.
    pub(crate) async fn check_skills(&self, subject: &PromptSubject) -> Result<(), AgentError> {
        let selected = subject.scope.skills.clone();
        if selected.is_empty() {
            return Ok(());
        }
        let domain = self.skills.as_ref().ok_or(AgentError::SkillsOff)?;
        let activation = domain.activation(SkillLocation::of_turn(&subject.turn_context())).await;
        for slug in selected {
            if activation.catalogue().usable(&slug).is_none() {
                return Err(match activation.catalogue().why_not(&slug) {
                    Some(found) => unusable(found),
                    None => unknown(&activation, slug),
                });
            }
        }
        Ok(())
    }
}

fn problems(activation: &Activation) -> Vec<String> {
    let catalogue = activation.catalogue();
    let cut =
        catalogue.is_cut().then(|| format!("more than {MAX_SKILLS} skills were found; the rest are ignored"));
    catalogue.trust_problem().map(str::to_owned).into_iter().chain(cut).collect()
}

fn unknown(activation: &Activation, slug: String) -> AgentError {
    let slugs = activation.catalogue().skills().iter().map(|skill| skill.slug.as_str());
    let meant = protocol::similar(&slug, slugs).map(str::to_owned);
    AgentError::UnknownSkill { slug, meant }
}

fn unusable(found: SkillSummary) -> AgentError {
    AgentError::UnusableSkill { slug: found.slug, outcome: found.outcome, detail: found.detail }
}
