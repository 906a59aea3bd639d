//! Skills in a turn: the hook that lists them for a model, and the tool that reads them.

mod queries;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hooks::{
    ContributionKind, Execution, Hook, HookContext, HookPackage, HookResult, HookSubscription, Phase,
    PromptSection, TurnContext, Visibility,
};
use prompt::{ContributedSection, SELECTED_SKILLS, SKILLS_RUNTIME};
use protocol::prompt::{
    PromptDiagnostic, PromptDiagnosticCode, PromptLeftOut, PromptSource, PromptSourceKind, PromptTruncation,
};
use protocol::{SkillReason, SkillSummary, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use skills::{Activation, MAX_SKILLS, Situation, SkillCache, SkillRequest, SkillSettings};
use tools::{Needs, RoundContext, Tool, ToolArguments, ToolContext, ToolOutput, ToolSource, Toolbox};

use crate::blocking::blocking;
use crate::domains::documents::DOCUMENT_HOOK;
use crate::settings::AgentSettings;

/// Id of the hook.
pub const SKILLS_HOOK: &str = "foreword.skills_prompt";
const PACKAGE: &str = "foreword.prompt.skills";
const DOMAIN: &str = "foreword.skills";
const TIMEOUT: Duration = Duration::from_secs(2);
/// Position among the hooks that contribute sections.
const PRIORITY: i32 = 500;
/// Name of a section's source.
const SOURCE: &str = "skill";
/// Id of the contribution that names the selected skills.
const SELECTED: &str = "selected_skills";
/// Name of the tool.
pub(crate) const READ_SKILL: &str = "read_skill";
/// Maximum number of inactive skills in a manifest.
const MAX_LEFT_OUT: usize = 100;

/// The skills available to turns of this gateway.
pub(crate) struct SkillsDomain {
    settings: SkillSettings,
    home: PathBuf,
    private_paths: Vec<PathBuf>,
    cache: SkillCache,
}

impl SkillsDomain {
    /// Returns `None` if skills are disabled, which removes the hook and the tool.
    pub(crate) fn new(settings: &AgentSettings) -> Option<Arc<Self>> {
        settings.skills.enabled.then(|| {
            Arc::new(Self {
                settings: settings.skills.clone(),
                home: settings.home.clone(),
                private_paths: settings.private_paths.clone(),
                cache: SkillCache::new(),
            })
        })
    }

    /// Resolves all skills of a location. Reads from the disk.
    fn activate(&self, place: &SkillLocation) -> Activation {
        let request = SkillRequest {
            home: &self.home,
            root: place.root.as_deref(),
            cwd: place.cwd.as_deref(),
            folders: &self.settings.folders,
            private_paths: &self.private_paths,
        };
        let situation = Situation {
            cwd: place.cwd.as_deref(),
            touched: &place.touched,
            selected: &place.selected,
            implicit: self.settings.implicit(),
        };
        skills::resolve(&request, Some(&self.cache)).activate(&situation)
    }

    /// Resolves all skills of a location on a blocking thread.
    pub(crate) async fn activation(self: &Arc<Self>, place: SkillLocation) -> Activation {
        let domain = Arc::clone(self);
        blocking(move || domain.activate(&place)).await
    }

    /// Returns the sections for a prompt. The texts of skills are read from the disk as well.
    async fn sections(self: &Arc<Self>, mut place: SkillLocation) -> Vec<PromptSection> {
        let domain = Arc::clone(self);
        blocking(move || {
            // The list must not depend on what a turn selects: it is part of the text that all turns share.
            let selected = std::mem::take(&mut place.selected);
            let activation = domain.activate(&place);
            let mut listed = section(&activation);
            if let Some(listed) = &mut listed {
                let is_selected = |left_out: &PromptLeftOut| {
                    left_out.source.id.as_ref().is_some_and(|slug| selected.contains(slug))
                };
                listed.left_out.retain(|left_out| !is_selected(left_out));
            }
            listed.into_iter().chain(selected_skills(&activation, &selected)).collect()
        })
        .await
    }
}

/// The working directory of a turn, the paths its thread has touched, and the skills it selects.
#[derive(Debug, Default)]
pub(crate) struct SkillLocation {
    pub(crate) root: Option<PathBuf>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) touched: Vec<PathBuf>,
    pub(crate) selected: Vec<String>,
}

impl SkillLocation {
    pub(crate) fn of_turn(turn: &TurnContext) -> Self {
        Self {
            root: turn.scope.root.clone(),
            cwd: turn.scope.directory.clone(),
            touched: turn.touched_paths.clone(),
            selected: turn.scope.skills.clone(),
        }
    }

    fn at(root: Option<PathBuf>, cwd: Option<PathBuf>) -> Self {
        Self { root, cwd, ..Self::default() }
    }
}

/// Returns the package to register.
pub(crate) fn package(domain: Arc<SkillsDomain>) -> HookPackage {
    let subscription = HookSubscription::new(SKILLS_HOOK, Phase::PrePromptCompile, SkillsHook(domain))
        .execution(Execution::Blocking)
        .timeout(TIMEOUT)
        .priority(PRIORITY)
        // The dependency only fixes the order of their records, which people read.
        .after(DOCUMENT_HOOK)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::PromptSection]);
    HookPackage::new(PACKAGE, DOMAIN).with(subscription)
}

struct SkillsHook(Arc<SkillsDomain>);

impl Hook for SkillsHook {
    async fn run(&self, context: HookContext) -> HookResult {
        // Skills are instructions, which such a delegate does not read.
        if context.turn.reads_goal_only() {
            return Ok(Vec::new());
        }
        let sections = self.0.sections(SkillLocation::of_turn(&context.turn)).await;
        Ok(sections.into_iter().map(Into::into).collect())
    }
}

/// Returns the sections for a prompt that is compiled without hooks.
pub(crate) async fn contributed(
    domain: &Arc<SkillsDomain>,
    root: Option<PathBuf>,
    cwd: PathBuf,
) -> impl Iterator<Item = ContributedSection> {
    let sections = domain.sections(SkillLocation::at(root, Some(cwd))).await;
    sections.into_iter().map(|section| ContributedSection {
        hook_id: SKILLS_HOOK.to_owned(),
        subscription_id: SKILLS_HOOK.to_owned(),
        truncation: PromptTruncation::None,
        section,
    })
}

/// Returns the section that names the selected skills; `None` if the turn selects none.
fn selected_skills(activation: &Activation, slugs: &[String]) -> Option<PromptSection> {
    let mut sources: Vec<PromptSource> = Vec::new();
    for skill in slugs.iter().filter_map(|slug| activation.catalogue().usable(slug)) {
        if sources.iter().any(|source| source.id.as_ref() == Some(&skill.slug)) {
            continue;
        }
        sources.push(PromptSource {
            path: Some(skill.file().to_string_lossy().into_owned()),
            id: Some(skill.slug.clone()),
            reason: Some(SkillReason::Selected.to_string()),
            ..PromptSource::new(PromptSourceKind::Other(SOURCE.to_owned()), skill.sha256.clone())
        });
    }
    let slugs: Vec<&str> = sources.iter().filter_map(|source| source.id.as_deref()).collect();
    let text = match slugs.as_slice() {
        [] => return None,
        [slug] => {
            format!("The user selected the skill {slug}; call {READ_SKILL} with this slug before you start.")
        }
        slugs => format!(
            "The user selected these skills: {}; call {READ_SKILL} with each slug before you start.",
            slugs.join(", ")
        ),
    };
    let mut section = PromptSection::new(SELECTED, SELECTED_SKILLS, "Selected Skills", text);
    section.priority = PRIORITY;
    section.sources = sources;
    Some(section)
}

/// Returns the section with the active skills, and the reasons for leaving out the others; `None` without skills.
fn section(activation: &Activation) -> Option<PromptSection> {
    if activation.catalogue().skills().is_empty() {
        return None;
    }
    let text = activation.runtime_text();
    let (text, with_body, unlisted) =
        text.map(|text| (text.text, text.with_body, text.unlisted)).unwrap_or_default();
    let active = activation.active();
    let listed = active.len() - unlisted;
    let sources = active.iter().take(listed).filter_map(|(skill, reason)| {
        Some(PromptSource {
            path: Some(skill.file().to_string_lossy().into_owned()),
            id: Some(skill.slug.clone()),
            reason: Some(reason.to_string()),
            whole: with_body.contains(&skill.slug),
            ..PromptSource::new(PromptSourceKind::Other(SOURCE.to_owned()), skill.sha256.clone()?)
        })
    });
    let sources = sources.collect();
    let (inactive, more) = activation.inactive(MAX_LEFT_OUT);
    let mut section = PromptSection::new(SOURCE, SKILLS_RUNTIME, "Skills Runtime", text);
    section.priority = PRIORITY;
    section.sources = sources;
    section.left_out = inactive.into_iter().map(left_out).collect();
    section.diagnostics =
        diagnostics(activation, MissingSkills { active: active.len(), unlisted, unnamed: more });
    Some(section)
}

fn left_out(skill: SkillSummary) -> PromptLeftOut {
    let kind = PromptSourceKind::Other(SOURCE.to_owned());
    PromptLeftOut {
        section_id: SKILLS_RUNTIME.to_owned(),
        source: PromptSource {
            path: Some(skill.path),
            id: Some(skill.slug),
            ..PromptSource::new(kind, None)
        },
        outcome: skill.outcome.to_string(),
        reason: skill.reason.map(|reason| reason.to_string()),
        detail: skill.detail,
    }
}

/// Counts of skills that did not fit.
struct MissingSkills {
    active: usize,
    /// Active skills missing in the text.
    unlisted: usize,
    /// Inactive skills missing in the manifest.
    unnamed: usize,
}

/// Returns the diagnostics about skills that did not fit.
fn diagnostics(activation: &Activation, missing: MissingSkills) -> Vec<PromptDiagnostic> {
    use PromptDiagnosticCode::{FileReadError, SectionOmitted, SectionTruncated};
    let MissingSkills { active, unlisted, unnamed } = missing;
    let catalogue = activation.catalogue();
    let mut found = Vec::new();
    if unlisted > 0 {
        let message = format!(
            "{unlisted} of {active} active skills are not listed, because the list is full; \
             give skills `paths`, or set skills.implicit = false and name them"
        );
        found.push(PromptDiagnostic::new(SectionTruncated, message));
    }
    if catalogue.is_cut() {
        let message = format!("more than {MAX_SKILLS} skills were found; the rest are ignored");
        found.push(PromptDiagnostic::new(SectionOmitted, message));
    }
    if unnamed > 0 {
        let message = format!("{unnamed} more skills are not active; `foreword skill list` names them all");
        found.push(PromptDiagnostic::new(SectionOmitted, message));
    }
    if let Some(problem) = catalogue.trust_problem() {
        found.push(PromptDiagnostic::new(FileReadError, problem));
    }
    found.into_iter().map(|diagnostic| diagnostic.in_section(SKILLS_RUNTIME)).collect()
}

/// Offers `read_skill` if a skill can be read, in chats as well.
pub(crate) struct SkillTools {
    domain: Arc<SkillsDomain>,
    toolbox: Toolbox,
}

impl SkillTools {
    pub(crate) fn new(domain: Arc<SkillsDomain>) -> Self {
        let mut toolbox = Toolbox::new();
        let added = toolbox.add(ReadSkill { domain: Arc::clone(&domain) });
        debug_assert!(added.is_ok(), "our own tool has a name and a schema");
        Self { domain, toolbox }
    }
}

impl ToolSource for SkillTools {
    fn name(&self) -> &str {
        "skills"
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        Box::pin(async move {
            let root = round.scope.root.clone();
            let cwd = round.scope.directory.clone();
            let activation = self.domain.activation(SkillLocation::at(root, cwd)).await;
            // A skill that waits for a path may become active later in the turn, and that must not change the list of
            // tools.
            let can_be_read = activation.catalogue().skills().iter().any(|skill| {
                activation.catalogue().usable(&skill.slug).is_some_and(|usable| std::ptr::eq(usable, skill))
            });
            // Hand out the same toolbox each time, which keeps the provider's cached prefix valid.
            if can_be_read { self.toolbox.clone() } else { Toolbox::new() }
        })
    }
}

/// Reads a skill or one of its files.
struct ReadSkill {
    domain: Arc<SkillsDomain>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Slug of the skill, exactly as the prompt lists it.
    slug: String,
    /// File that the skill refers to, relative to its folder; the skill's own text if absent.
    file: Option<String>,
}

impl Tool for ReadSkill {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            READ_SKILL,
            "Reads the instructions of a skill, or a file in the skill's folder.",
        )
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        // Skills live in folders that no file tool reaches, and only usable skills are read.
        Needs::Nothing
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let Parameters { slug, file } = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        let root = context.root().map(Path::to_owned);
        // Without a root the working directory is an empty path, which must not count as one.
        let cwd = root.is_some().then(|| context.cwd().to_owned());
        let selected = context.scope().map(|scope| scope.skills.clone()).unwrap_or_default();
        let place = SkillLocation { selected, ..SkillLocation::at(root, cwd) };
        let activation = self.domain.activation(place).await;
        blocking(move || read(&activation, &slug, file.as_deref())).await
    }
}

fn read(activation: &Activation, slug: &str, file: Option<&str>) -> ToolOutput {
    let catalogue = activation.catalogue();
    let Some(skill) = catalogue.usable(slug) else {
        return ToolOutput::error(match catalogue.why_not(slug) {
            Some(found) => format!("the skill `{}` cannot be used: it is {}", found.slug, found.outcome),
            None => match protocol::similar(slug, catalogue.skills().iter().map(|skill| skill.slug.as_str()))
            {
                Some(meant) => format!("there is no such skill; did you mean `{meant}`?"),
                None => "there is no such skill; use a slug as it is listed".to_owned(),
            },
        });
    };
    // A skill that waits for a path may have become active through a path that this turn touched.
    let is_unnamed = activation
        .outcomes()
        .any(|(found, _, reason)| std::ptr::eq(found, skill) && reason == SkillReason::NotImplicit);
    if is_unnamed {
        return ToolOutput::error(format!(
            "the skill `{slug}` is used only in turns that name it, and this one does not"
        ));
    }
    match skill.read(file.unwrap_or("SKILL.md")) {
        Ok(text) => ToolOutput::text(text),
        Err(error) => ToolOutput::error(error.to_string()),
    }
}
