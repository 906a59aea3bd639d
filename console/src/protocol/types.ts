// Written by `cargo xtask generate` from the types of the protocol; never edited by hand.

/** An access token without its secret. */
export interface AccessToken {
  /** Id of the token. */
  id: string;
  /** Unique name, recorded as the actor of its calls. */
  name: string;
  /** Role of the token. */
  role: Role;
  /** The only workspace it may access; absent for all. */
  workspace_id?: string;
  /** Creation time. */
  created_at: string;
  /** Name of the token that created it. */
  created_by?: string;
  /** Expiry time; absent if it does not expire. */
  expires_at?: string;
  /** Time of its revocation; absent if it was not revoked. */
  revoked_at?: string;
}

/** Settings of a configuration, a workspace or a session. Absent fields keep their value. */
export interface AgentsConfig {
  /** True to read files on disk at all. */
  enabled?: boolean;
  /** Name of the profile. */
  profile?: string;
  /** File names tried after the profile's own. */
  fallbackFilenames?: string[];
  /** True to allow links that lead outside the project. */
  followExternalLinks?: boolean;
  /** True to follow imports with `@`. */
  imports?: boolean;
  /** Settings of the project root. */
  root?: AgentsRoot;
  /** Limits of the initial chain. */
  initial?: AgentsInitial;
  /** Settings of the resolver. */
  resolver?: AgentsResolver;
}

/** Limits of the initial chain. */
export interface AgentsInitial {
  /** Most files. */
  maxFiles?: number;
  /** Most bytes. */
  maxBytes?: number;
}

/** Settings of the resolver. */
export interface AgentsResolver {
  /** True to announce files of other directories. */
  enabled?: boolean;
  /** Most files announced by one resolve. */
  maxFilesPerResolve?: number;
  /** Form of delivery in reminders. */
  delivery?: Delivery;
}

/** Settings of the project root. */
export interface AgentsRoot {
  /** The root itself, without a search. */
  projectRootOverride?: string;
  /** Names whose presence marks a directory as the root. */
  markers?: string[];
  /** True to continue the search to the file system's root. */
  stopAtFsRoot?: boolean;
}

/** Decision about a call. */
export interface ApprovalDecision {
  /** True if the call may run. */
  allowed: boolean;
  /** Name of the decider; absent if unnamed. */
  decided_by?: string;
  /** Time of the decision. */
  decided_at: string;
  /** Origin of the decision. */
  how?: HowDecided;
}

/** An entry of the audit log. */
export interface AuditEntry {
  /** Id of the entry. Ids sort by time. */
  id: string;
  /** Time of the event; for counted events, of the first occurrence. */
  at: string;
  /** Actor: a token's name, `stdio`, or `gateway`; absent if unknown. */
  actor?: string;
  /** Affected workspace; absent if all are affected. */
  workspace_id?: string;
  /** The event. */
  event: AuditEvent;
}

/** Event in the audit log. */
export type AuditEvent = {
  kind: "gateway_started";
  /** Version of the gateway. */
  version: string;
  /** Address it listens on. */
  address: string;
  /** Its database, without a password. */
  database: string;
  /** Isolation of commands; absent if it runs none. */
  sandbox?: SandboxLevel;
  /** Configured settings by key, without secrets. Keys that are missing have their default value. */
  settings: Record<string, unknown>;
} | {
  kind: "token_used";
  /** Id of the token. */
  token_id: string;
  /** Number of authentications. */
  authentications: number;
  /** Number of calls. */
  calls: number;
  /** Number of calls that the token does not allow. */
  forbidden?: number;
  /** Time of the last use. */
  until: string;
} | {
  kind: "authentication_failed";
  /** Source address; `others` if there were too many to list. */
  source: string;
  /** Reason for the failure. */
  reason: AuthenticationFailure;
  /** Number of failures. */
  count: number;
  /** Time of the last failure. */
  until: string;
} | {
  kind: "console_session";
  /** Token that the session stands for. */
  token_id: string;
  /** Proof that was presented. */
  method: SignInMethod;
} | {
  kind: "token_created";
  /** Id of the token. */
  token_id: string;
  /** Name of the token. */
  name: string;
  /** Role of the token. */
  role: Role;
  /** Expiry time; absent if it does not expire. */
  expires_at?: string;
} | {
  kind: "token_revoked";
  /** Id of the token. */
  token_id: string;
  /** Name of the token. */
  name: string;
} | {
  kind: "workspace_root_changed";
  /** Previous directory; absent if there was none. */
  from?: string;
  /** New directory; absent if there is none. */
  to?: string;
} | {
  kind: "workspace_archived";
  /** Name of the workspace. */
  name: string;
} | {
  kind: "workspace_restored";
  /** Name of the workspace. */
  name: string;
} | {
  kind: "memory_forgotten";
  /** Id of the item. */
  item_id: string;
  /** Scope of the item. */
  scope: MemoryScope;
  /** Stored texts removed with it. */
  removed: MemoryRemoved;
} | {
  kind: "approval_decided";
  /** Turn of the call. */
  turn_id: string;
  /** Id of the call. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** Digest of exactly what was decided about. */
  digest?: string;
  /** True if the call may run. */
  allowed: boolean;
  /** Origin of the decision. */
  how?: HowDecided;
  /** True if the call changes the model's identity. */
  identity: boolean;
};

/** Filter for entries of the audit log. */
export interface AuditListParams {
  /** Earliest time of an entry. */
  since?: string;
  /** Id that entries must precede, such as the last one of the previous page. */
  before?: string;
  /** Most entries, from 1 to 500; absent for 50. */
  limit?: number;
}

/** Entries of the audit log. */
export interface AuditListResult {
  /** Entries, newest first. An owner bound to a workspace receives only the entries of that workspace. */
  entries: AuditEntry[];
}

/** Reason for a failed authentication. */
export type AuthenticationFailure = "missing" | "unknown" | "revoked" | "expired";

/** Part of a request that holds a block of text. */
export type BlockRole = "system" | "developer" | "user";

/** Cache breakpoint up to which a provider may reuse a request. */
export type CacheMark = "stable" | "session" | "opening" | "last_message" | "thread_key" | "other";

/** Capabilities of a gateway on one connection. */
export interface Capabilities {
  /** Names of all methods. */
  methods: string[];
  /** True if `events/subscribe` works on this transport. */
  events: boolean;
  /** Most bytes of one incoming message. */
  max_message_bytes: number;
  /** Most bytes of a document's text. */
  max_document_bytes: number;
}

/** Time and author of a change. Every notification with a `seq` has these fields as well. */
export interface ChangeOrigin {
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Instruction files read by one agent. */
export interface ComparedAgent {
  /** Name of the agent's profile. */
  agent: string;
  /** Version against which the profile was verified; absent if it was never run. */
  version?: string;
  /** Role of the message with the project's files; absent if unknown. */
  role?: BlockRole;
  /** Files that it reads, in the order of its text, followed by files that it does not read. */
  files: ComparedFile[];
  /** Bytes of the files that reach the model. */
  bytes: number;
  /** Estimated tokens of those bytes, without text that the agent adds. */
  tokens: number;
  /** Bytes that the agent should read but loses: cut off, or dropped with their file. */
  lost_bytes: number;
}

/** A file and its outcome for one agent. */
export interface ComparedFile {
  /** Path of the file. */
  path: string;
  /** Outcome for the agent. */
  outcome: Outcome;
  /** Role of the message with the file's text; absent if it is not read. */
  role?: BlockRole;
  /** Time of the decision. */
  when: ReadingTime;
  /** Size in bytes; 0 if unknown. */
  bytes: number;
  /** Bytes of the file that reach the model. */
  kept_bytes: number;
  /** Estimated tokens of those bytes; 0 if the text is counted with the file that imports it. */
  tokens: number;
}

/** Instruction files read by several agents in one directory. */
export interface Comparison {
  /** Directory in which the agents are started. */
  path: string;
  /** The agents, in the requested order. */
  agents: ComparedAgent[];
  /** Relevant differences between the agents, one sentence each. */
  differences: string[];
}

/** No parameters. */
export type ConsoleCodeParams = Record<string, unknown>;

/** A code for signing in to the console. */
export interface ConsoleCodeResult {
  /** The code. The console takes it from the fragment of its address: `/console/#code=CODE`. */
  code: string;
  /** Time at which the code expires if it was not used. */
  expires_at: string;
}

/** Earlier turns were left out of the request. */
export interface ContextCompressed {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Ordinal up to which turns are left out. */
  through: number;
  /** True if a summary replaces them. */
  summarised: boolean;
  /** Ordinal after which omitted turns are not covered by a summary either; absent if all are covered. */
  missing_after?: number;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Earlier turns exceed their budget and are being summarized. */
export interface ContextCompressing {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Kind of a hook's contribution to a turn. */
export type ContributionKind = "policy" | "prompt_section" | "tool_bundle" | "background_job";

/** A deleted folder that can be restored. */
export interface DeletedFolder {
  /** Id of the folder. */
  id: string;
  /** The workspace. */
  workspace_id: string;
  /** Parent folder; absent at the workspace root. */
  parent_folder_id?: string;
  /** Display name. */
  name: string;
  /** Creation time. */
  created_at: string;
  /** Time of the last rename, move or deletion. */
  updated_at: string;
  /** Time of the deletion. */
  deleted_at: string;
  /** Archived document that a restore brings back. */
  doc?: DocumentSummary;
}

/** Content of reminders: texts or paths. */
export type Delivery = "pointer" | "inline" | "auto";

/** Cause of a delivery. */
export type DeliveryTime = "start" | "reading" | "reminder" | "resume";

/** Stable code of a diagnostic, in alphabetical order. */
export type DiagnosticCode = "above_root" | "changed_while_read" | "dangling_marker" | "hidden_unicode" | "invalid_front_matter" | "invalid_utf8" | "not_a_file" | "outside_root" | "over_budget" | "setting_not_followed" | "too_deep" | "too_many_imports" | "truncated" | "unreadable" | "wrapper_tag" | "zero_width" | "other";

/** A document with its text. */
export interface Document {
  /** Id of the document. A new document in the same scope has another one. */
  id: string;
  /** The workspace. */
  workspace_id: string;
  /** Folder of its scope; absent for the workspace root. */
  folder_id?: string;
  /** State of the document. */
  status: DocumentStatus;
  /** Always `AGENTS.md`. */
  title: string;
  /** Normalized text. */
  content: string;
  /** SHA-256 of the text. */
  content_sha256: string;
  /** Version number within the scope. */
  version: number;
  /** Number of characters of the text. */
  char_count: number;
  /** Time of the first save. */
  created_at: string;
  /** Time of the last change. */
  updated_at: string;
  /** Time at which it was archived; absent if it was not. */
  archived_at?: string;
  /** Name of the token that first saved it. */
  created_by?: string;
  /** Name of the token that last changed it. */
  updated_by?: string;
}

/** Scope whose document to archive. */
export interface DocumentArchiveParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder; absent for the workspace root. */
  folder_id?: string;
  /** Version that the caller last saw; absent to archive any. */
  expected_version?: number;
}

/** Result of archiving a scope's document. */
export interface DocumentArchiveResult {
  /** False if the scope had no document. */
  archived: boolean;
  /** The nearest active document afterwards. */
  effective?: ResolvedDocument;
}

/** A scope's document was saved, restored or archived. */
export interface DocumentChanged {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** Folder of the scope; absent for the workspace root. */
  folder_id?: string;
  /** The current document; absent if it was archived. */
  summary?: DocumentSummary;
  /** True if the effective text of the scope changed. */
  effective_changed: boolean;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Own and effective document of a scope. */
export interface DocumentGetResult {
  /** The scope's own document, including a draft. */
  explicit?: Document;
  /** The nearest active document. */
  effective?: ResolvedDocument;
}

/** Scope and range of its history. */
export interface DocumentHistoryParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder; absent for the workspace root. */
  folder_id?: string;
  /** Most revisions in the result. */
  limit?: number;
  /** Version that revisions must precede. */
  before?: number;
}

/** Revisions of a scope. */
export interface DocumentHistoryResult {
  /** Revisions, newest first. */
  revisions: RevisionSummary[];
}

/** A thread. */
export interface DocumentResolveForThreadParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
}

/** The effective document. */
export interface DocumentResolveResult {
  /** The nearest active document; absent if there is none. */
  effective?: ResolvedDocument;
}

/** Version of a scope to restore. */
export interface DocumentRestoreParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder; absent for the workspace root. */
  folder_id?: string;
  /** Version whose text to restore. */
  version: number;
  /** Version that the caller last saw; 0 to require that there is no document; absent to overwrite any. */
  expected_version?: number;
  /** Description of the change for the history, at most 500 characters. */
  message?: string;
}

/** The restored document. */
export interface DocumentRestoreResult {
  /** The document. */
  doc: Document;
}

/** Version of a scope. */
export interface DocumentRevisionParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder; absent for the workspace root. */
  folder_id?: string;
  /** The version. */
  version: number;
}

/** A revision with its text. */
export interface DocumentRevisionResult {
  /** The revision. */
  revision: Revision;
}

/** New text of a scope. */
export interface DocumentSaveParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder; absent for the workspace root. */
  folder_id?: string;
  /** The text; line ends are normalized. */
  content: string;
  /** Version that the caller last saw; 0 to require that there is no document; absent to overwrite any. */
  expected_version?: number;
  /** Reason for the save; absent for `manual`. */
  save_reason?: SaveReason;
  /** Description of the change for the history, at most 500 characters. */
  message?: string;
}

/** The saved document. */
export interface DocumentSaveResult {
  /** The document. */
  doc: Document;
  /** Warnings for the user. */
  warnings: Warning[];
}

/** A scope. */
export interface DocumentScopeParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder; absent for the workspace root. */
  folder_id?: string;
}

/** State of a document. */
export type DocumentStatus = "draft" | "active" | "archived";

/** A document without its text, as used in trees and notifications. */
export interface DocumentSummary {
  /** Id of the document. A new document in the same scope has another one. */
  id: string;
  /** The workspace. */
  workspace_id: string;
  /** Folder of its scope; absent for the workspace root. */
  folder_id?: string;
  /** State of the document. */
  status: DocumentStatus;
  /** SHA-256 of the text. */
  content_sha256: string;
  /** Version number within the scope. */
  version: number;
  /** Number of characters of the text. */
  char_count: number;
  /** Time of the last change. */
  updated_at: string;
}

/** The `error.data` member: a kind and its details. */
export interface ErrorData {
  /** Kind of the error. */
  kind: ErrorKind;
  /** Advice, one piece per line. */
  hint?: string;
  /** Cause of an internal error. */
  reason?: InternalReason;
  /** Weakest role that may make the call. */
  needed_role?: Role;
  /** Subject of the error. */
  what?: ErrorSubject;
  /** Id or name of the subject. */
  id?: string;
  /** Version expected by the caller. */
  expected?: number;
  /** Current version (0 if there is no document), or actual number of bytes. */
  actual?: number;
  /** Current document; absent if there is none. */
  current?: Document;
  /** Limit in bytes, or for `what`. */
  limit?: number;
  /** Oldest change in the log. */
  oldest_seq?: number;
  /** Milliseconds until a retry may succeed. */
  retry_after_ms?: number;
  /** The provider that failed. */
  provider?: string;
  /** HTTP status of the provider's response. */
  status?: number;
  /** True if the same call could succeed later. */
  retryable?: boolean;
  /** The hook that failed. */
  hook_id?: string;
  /** Phase in which it failed. */
  phase?: string;
}

/** Kind of an error, as named in `error.data.kind`. */
export type ErrorKind = "parse_error" | "invalid_request" | "method_not_found" | "invalid_params" | "internal_error" | "unauthenticated" | "forbidden" | "not_found" | "version_conflict" | "already_exists" | "invalid_state" | "log_pruned" | "too_large" | "rate_limited" | "limit_reached" | "provider_failed" | "hook_failed";

/** The `error` member of a JSON-RPC response. */
export interface ErrorObject {
  /** Error code listed in the reference. */
  code: number;
  /** Description of the failure and what it affected. */
  message: string;
  /** Structured details and advice. */
  data?: ErrorData;
}

/** Subject of an error, as named in `error.data.what`. */
export type ErrorSubject = "workspace" | "folder" | "thread" | "revision" | "token" | "turn" | "approval" | "manifest" | "prompt_text" | "memory_item" | "skill" | "mcp_server" | "provider" | "batch" | "connections" | "token_connections" | "mcp_sessions" | "turns" | "workspace_turns" | "waiting_turns" | "tokens_per_day" | "other";

/** Current sequence number of a workspace. */
export interface EventsResult {
  /** Newest change at the time of the response. */
  seq: number;
}

/** Workspace to subscribe to. */
export interface EventsSubscribeParams {
  /** The workspace. */
  workspace_id: string;
  /** Last sequence number already seen; absent to receive only new changes. */
  since?: number;
  /** Value of `instance` in the answer to `initialize` when that change was seen. If it is another one now, the answer is -32012, because the number may belong to another change. */
  instance?: string;
}

/** Workspace to unsubscribe from. */
export interface EventsUnsubscribeParams {
  /** The workspace. */
  workspace_id: string;
}

/** An instruction file that the model received. */
export interface ExplainedFile {
  /** Path of the file. */
  path: string;
  /** Delivery of the file. */
  delivery: FileDelivery;
  /** SHA-256 of the delivered content. */
  sha256?: string;
  /** Modification time in milliseconds since 1970, if the model received it. */
  mtime_ms?: number;
  /** Tool call whose result delivered it. */
  call_id?: string;
  /** Earlier turn that delivered it and was still in the request; absent for this turn. */
  turn_id?: string;
}

/** Part of earlier turns that the model received. */
export interface ExplainedHistory {
  /** Ordinal up to which turns were not sent verbatim; 0 if all were. */
  left_out_through: number;
  /** True if a summary replaces those turns. */
  summarised: boolean;
  /** Ordinal after which omitted turns are not covered by a summary either; absent if all are covered. */
  missing_after?: number;
  /** The summary, as written by a model; absent in records of older versions. */
  summary?: string;
  /** Number of completed turns sent verbatim. */
  turns: number;
  /** Number of questions and answers in those turns, without tool calls. */
  entries: number;
  /** Estimated tokens of those turns and the summary. */
  tokens: number;
  /** Token budget for earlier turns at this prompt's size. */
  budget_tokens: number;
}

/** A background job that a hook queued; any gateway may run it. */
export interface ExplainedJob {
  /** Kind of job. */
  kind: string;
  /** State of the job. */
  status: JobStatus;
  /** Number of attempts so far. */
  attempts: number;
  /** Error of the last attempt. */
  error?: string;
  /** Tokens used by all attempts; they count toward the workspace's daily limit, not the turn. */
  usage?: TokenUsage;
}

/** A reminder that a model received. */
export interface ExplainedReminder {
  /** Type of the reminder. */
  type: SystemReminderType;
  /** Call whose result it followed; absent for one in a message of its own. */
  call_id?: string;
  /** Instruction files named by the reminder, delivered or announced. */
  files?: ExplainedFile[];
}

/** Explanation of one round of a turn. */
export interface ExplainedRound {
  /** Number of the round in its turn, from 1. */
  round: number;
  /** First round with an identical manifest, which is stored once. */
  same_as?: number;
  /** Sections of the prompt, in order. */
  sections: PromptManifestSection[];
  /** Mode, tools, tool choice and notes; absent in records of the first version. */
  request?: RoundRequest;
  /** Part of earlier turns that was sent, if it was recomputed for this round. */
  history?: ExplainedHistory;
  /** Foreword's own texts at the end of messages first sent in this round, such as the note about unanswered turns. */
  notes?: MessageNote[];
  /** Reminders first sent in this round. */
  reminders?: ExplainedReminder[];
  /** Tools called in the round. */
  calls?: ExplainedTool[];
  /** Calls of the round that required approval, with their decisions. */
  approvals?: TurnApproval[];
  /** Usage and cache breakpoints; absent if the model did not answer. */
  outcome?: RoundOutcome;
}

/** Source of a part of a prompt. */
export interface ExplainedSource {
  /** Section that contains it. */
  section_id: string;
  /** Kind of source: `built_in`, `file`, `document`, `caller`, or one defined by a hook. */
  kind: string;
  /** Path of a file, or of a document's folder. */
  path?: string;
  /** Id of a stored source. */
  id?: string;
  /** Version of the source. */
  version?: number;
  /** SHA-256 of the source's text, if known. */
  sha256?: string;
  /** Owner of personal memory; other users are not shown the text. */
  owner?: string;
  /** Reason for including it, in terms of its domain: for a skill `selected`, `path_matched` or `implicit`. */
  reason?: string;
  /** True if the section contains the complete text rather than a line about it. */
  whole?: boolean;
}

/** A tool that was called. */
export interface ExplainedTool {
  /** Id of the call. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** True if it failed; absent if it has no result. */
  is_error?: boolean;
  /** Types of the reminders at the end of its result. */
  reminders?: SystemReminderType[];
  /** Isolation of the command; absent for calls that run none. */
  sandbox?: SandboxLevel;
  /** Protected files changed by the command. */
  protected_changes?: ProtectedChange[];
  /** True if the watch ran out of time, so that changes to protected files may be missing. */
  unwatched?: boolean;
  /** Memory items contained in the call or its result, so that forgetting them finds it. */
  memory?: string[];
  /** Owner of the personal memory among those items; turns of other users do not receive the call and its result again. Absent if there is none. */
  memory_owner?: string;
}

/** Kind of change to a file. */
export type FileChange = "new" | "changed" | "removed";

/** Delivery of an instruction file to a model. */
export type FileDelivery = "initial" | "inline" | "read" | "pointer" | "removed";

/** A problem with a file of the initial text, without content. */
export interface FileProblem {
  /** Path of the file. */
  path: string;
  /** Kind of problem. */
  code: DiagnosticCode;
}

/** Version of an instruction file that reached the model, for comparison with the disk. A map keys it by path. Three types repeat some of its fields because their formats are fixed elsewhere: `InstructionFile` (result of a resolution, with the kept part), `ResolvedFile` (public schema of `resolve`), and `ReminderFile` (stored reminder, in which older entries lack a version). */
export interface FileVersion {
  /** Modification time in milliseconds since 1970. */
  mtime_ms: number;
  /** Size in bytes. */
  size: number;
  /** SHA-256 of the content that was read. */
  sha256: string;
  /** File of a chain that imports it, directly or through others; absent for a file that applies by its own location. */
  imported_by?: string;
}

/** A folder of the thread tree. Names may repeat. */
export interface Folder {
  /** Id of the folder. */
  id: string;
  /** The workspace. */
  workspace_id: string;
  /** Parent folder; absent at the workspace root. */
  parent_folder_id?: string;
  /** Display name. */
  name: string;
  /** Creation time. */
  created_at: string;
  /** Time of the last rename, move or deletion. */
  updated_at: string;
}

/** Fields of a new folder. */
export interface FolderCreateParams {
  /** The workspace. */
  workspace_id: string;
  /** Parent folder; absent for the workspace root. */
  parent_folder_id?: string;
  /** Display name. */
  name: string;
}

/** Confirmation of a deletion. */
export interface FolderDeleteResult {
  /** Always true. A folder that does not exist is an error. */
  deleted: boolean;
}

/** Workspace whose deleted folders to list. */
export interface FolderDeletedParams {
  /** The workspace. */
  workspace_id: string;
}

/** Deleted folders. */
export interface FolderDeletedResult {
  /** Folders, most recently deleted first. */
  folders: DeletedFolder[];
}

/** A folder. */
export interface FolderGetParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder. */
  folder_id: string;
}

/** New parent of a folder. */
export interface FolderMoveParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder. */
  folder_id: string;
  /** Parent folder; absent for the workspace root. */
  parent_folder_id?: string;
}

/** New name of a folder. */
export interface FolderRenameParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder. */
  folder_id: string;
  /** The new name. */
  name: string;
}

/** A restored folder. */
export interface FolderRestoreResult {
  /** The folder in its current place. */
  folder: Folder;
  /** Document restored with it, as a new version. */
  doc?: Document;
  /** Differences from the folder before its deletion. */
  warnings: Warning[];
}

/** A folder. */
export interface FolderResult {
  /** The folder. */
  folder: Folder;
}

/** Change of a file in a frozen start. */
export type FrozenChange = "edited" | "added" | "removed";

/** A file that differs between a frozen start and the disk. */
export interface FrozenFile {
  /** Path of the file. */
  path: string;
  /** Kind of change. */
  change: FrozenChange;
  /** First line of an edited file that is not in the frozen text; absent if unknown. */
  line?: number;
}

/** Difference between a thread's frozen start and the disk. The frozen text never changes during a thread, so that providers can reuse it. A change is sent once, in a message. */
export interface FrozenStart {
  /** Directory of the thread. */
  cwd: string;
  /** Requested directory, if it is another one. It does not affect the frozen text. */
  asked_cwd?: string;
  /** Files that differ from a new thread's start. */
  files: FrozenFile[];
  /** Reminder for the next turn; absent if the model already received it. */
  reminder?: TurnReminder;
}

/** Content of `gateway.json`. */
export interface GatewayFile {
  /** HTTP base address, such as `http://127.0.0.1:4670`. */
  url: string;
  /** Process id of the gateway. */
  pid: number;
}

/** Tools of a hidden domain that are not in the request. */
export interface HiddenTools {
  /** The domain. */
  domain: string;
  /** Names of the tools. */
  tools: string[];
}

/** Way in which a phase waits for a hook. */
export type HookExecution = "blocking" | "deadline" | "background";

/** Effect of a hook's failure: an error, a panic, a timeout, or an oversized result. */
export type HookFailurePolicy = "fail_closed" | "fallback" | "best_effort" | "skip";

/** Point of a turn at which hooks run, in order of execution. */
export type HookPhase = "turn.pre_policy" | "turn.pre_prompt_context" | "turn.pre_tool_materialization" | "turn.pre_prompt_compile" | "turn.post_prompt_compile" | "turn.post_turn" | "turn.pre_compaction";

/** Record of one run of a hook, without the content of its contributions. */
export interface HookRun {
  /** The workspace; absent for a run outside a workspace. */
  workspace_id?: string;
  /** The thread; absent for a run outside a thread. */
  thread_id?: string;
  /** The turn; absent for a run outside a turn. */
  turn_id?: string;
  /** Id of the hook's package. */
  package_id: string;
  /** Id of the hook. */
  hook_id: string;
  /** Id of the subscription. */
  subscription_id: string;
  /** Phase of the turn. */
  phase: HookPhase;
  /** Execution mode. */
  execution: HookExecution;
  /** Failure policy. */
  failure: HookFailurePolicy;
  /** Audience of the record. */
  visibility: HookVisibility;
  /** Start time; for a run that never started, the start of its phase. */
  started_at: string;
  /** Duration in microseconds; 0 if the run never started. */
  duration_us: number;
  /** Result of the run. */
  status: HookRunStatus;
  /** Number of accepted contributions by kind, including fallbacks. */
  contributions: Record<string, number>;
  /** Number of rejected contributions. */
  refused: number;
  /** Size of the returned contributions in bytes. */
  bytes: number;
  /** Reason for an incomplete run, on one line and without secrets. */
  error_preview?: string;
}

/** Result of a hook's run. */
export type HookRunStatus = "completed" | "failed" | "timed_out" | "panicked" | "cancelled" | "rejected" | "skipped" | "fell_back";

/** Audience that may see a hook's runs. */
export type HookVisibility = "internal" | "debug" | "user";

/** Origin of a decision. Behind a name may be a person who read the call, or a flag of a script. */
export type HowDecided = "asked" | "standing" | "flag" | "unattended" | "expired";

/** Text that a session started with. It never changes. */
export interface InitialChain {
  /** Directory for which it was made; absent in sessions of older versions. */
  cwd?: string;
  /** Directory of the workspace at that time; absent outside a workspace, and in one without a directory. */
  workspace?: string;
  /** The text; absent if no file applied. */
  text?: string;
  /** SHA-256 of the text. */
  sha256?: string;
  /** Files of the text, in order. */
  files: string[];
  /** Versions of the files; absent in sessions of older versions. */
  versions?: Record<string, FileVersion>;
  /** Problems with the files, each listed once. */
  findings?: FileProblem[];
}

/** The calling client. */
export interface InitializeParams {
  /** The client. One named `mcp:NAME` acts for an MCP client, and the history names it beside the token. */
  client?: Program;
}

/** The responding gateway and its capabilities. */
export interface InitializeResult {
  /** Version of the protocol. */
  protocol_version: string;
  /** The gateway. */
  server: Program;
  /** Id of the database, and of its history if a PostgreSQL standby was promoted. If it changed, clients must reload everything they know. */
  instance: string;
  /** Name of the caller's token, or `stdio`. */
  actor: string;
  /** Role of the caller. */
  role: Role;
  /** The only workspace that the caller may access; absent for all. */
  workspace_id?: string;
  /** Capabilities of this connection. */
  capabilities: Capabilities;
}

/** Directory and agents to compare. */
export interface InstructionsCompareParams {
  /** The workspace. */
  workspace_id: string;
  /** Directory inside the workspace's own; absent for the workspace's own. */
  path?: string;
  /** Path of a file that a tool reads after startup, relative to `path`. It must be inside the workspace's directory and need not exist. */
  reading?: string;
  /** Names of profiles; absent for all. */
  agents?: string[];
}

/** Cause of an internal error, as named in `error.data.reason`. */
export type InternalReason = "disk_full" | "database_unavailable" | "database_failed" | "panic" | "manifest" | "stored" | "prompt_altered" | "other";

/** State of a background job. */
export type JobStatus = "waiting" | "running" | "done" | "failed";

/** A configured MCP server, without its command and address, which may hold secrets. */
export interface McpServer {
  /** Name in the configuration. */
  name: string;
  /** Transport to the server. */
  transport: McpTransport;
  /** State of the server. */
  state: McpState;
  /** Names of its tools as models call them, from its last listing. */
  tools: string[];
  /** True if its tools are sent only after a model requested them. */
  hidden: boolean;
  /** Number of starts since the gateway started. */
  starts: number;
  /** Last error, if no call has succeeded since. */
  failure?: string;
  /** Omitted or changed tools, with the reason. */
  problems?: string[];
}

/** State of an MCP server. */
export type McpState = "idle" | "starting" | "running" | "failed";

/** No parameters. */
export type McpStatusParams = Record<string, unknown>;

/** State of the configured MCP servers. */
export interface McpStatusResult {
  /** The servers, by name. A token bound to a workspace receives those configured for it. */
  servers: McpServer[];
  /** True if servers are configured but switched off. */
  are_off?: boolean;
}

/** Transport to an MCP server. */
export type McpTransport = "stdio" | "http";

/** A new memory item. */
export interface MemoryAddParams {
  /** The workspace. An item with scope `user` applies in all of them. */
  workspace_id: string;
  /** Scope of the item. `user` belongs to the caller and requires a token that is not bound to a workspace. */
  scope: MemoryScope;
  /** Kind of item in a few words: `preference`, `fact`, `decision`. */
  category: string;
  /** Text of the item. If it exists already in this scope, the existing item is returned. */
  text: string;
  /** The thread; required for the scope `thread` and not allowed otherwise. */
  thread_id?: string;
  /** Expiry time in the future; absent if it does not expire. */
  expires_at?: string;
  /** Item that it replaces. */
  supersedes?: string;
}

/** Page of an export. */
export interface MemoryExportParams {
  /** The workspace. */
  workspace_id: string;
  /** Id to continue after: `next` of the previous page. */
  after?: string;
}

/** Page of exported items. */
export interface MemoryExportResult {
  /** Active items, oldest first. */
  items: MemoryRecord[];
  /** Id to continue after; absent on the last page. */
  next?: string;
}

/** A forgotten item and the removed texts. */
export interface MemoryForgetResult {
  /** The item, without its text. */
  item: MemoryItem;
  /** Other stored texts that were removed because they contained it. */
  removed: MemoryRemoved;
  /** True if it was forgotten before. */
  was_forgotten?: boolean;
}

/** A memory item. */
export interface MemoryGetParams {
  /** The workspace. */
  workspace_id: string;
  /** Id of the item. */
  id: string;
}

/** Exported items to import. */
export interface MemoryImportParams {
  /** The workspace. */
  workspace_id: string;
  /** The items, at most 500. */
  items: MemoryRecord[];
}

/** Result of an import. */
export interface MemoryImportResult {
  /** Number of added items. */
  added: number;
  /** Number of items that existed already. */
  unchanged: number;
  /** Rejected items. */
  refused?: RefusedMemory[];
}

/** A memory item. */
export interface MemoryItem {
  /** Id of the item. */
  id: string;
  /** Scope of the item. */
  scope: MemoryScope;
  /** Thread of an item with scope `thread`. */
  thread_id?: string;
  /** Kind of item, chosen by its author: `preference`, `fact`, `decision`. */
  category: string;
  /** Text of the item; absent once it was forgotten. */
  text?: string;
  /** Turn that the item was extracted from; absent if a person added it. */
  source_turn?: string;
  /** State of the item. */
  status: MemoryStatus;
  /** Creation time. */
  created_at: string;
  /** Name of the token that added it. */
  created_by?: string;
  /** Expiry time; absent if it does not expire. */
  expires_at?: string;
}

/** Filter for memory items. */
export interface MemoryListParams {
  /** The workspace. */
  workspace_id: string;
  /** Scope of the items; absent for all. */
  scope?: MemoryScope;
  /** Thread whose visible items to list: its own, the workspace's and the caller's. */
  thread_id?: string;
  /** State of the items; absent for active ones. */
  status?: MemoryStatus;
  /** Id that items must precede, such as the last one of the previous page. */
  before?: string;
  /** Most items, from 1 to 500; absent for 50. */
  limit?: number;
}

/** Memory items. */
export interface MemoryListResult {
  /** Items: newest first in a list, best match first in a search. */
  items: MemoryItem[];
}

/** An exported memory item. It has no id, because ids mean nothing to another gateway. */
export interface MemoryRecord {
  /** Scope of the item. */
  scope?: MemoryScope;
  /** Thread of an item with scope `thread`. */
  thread_id?: string;
  /** Kind of item. */
  category: string;
  /** Text of the item. */
  text: string;
  /** Expiry time; absent if it does not expire. */
  expires_at?: string;
}

/** Number of stored texts removed along with a forgotten item. They are found by recorded use of the item, not by their words. */
export interface MemoryRemoved {
  /** Texts of past prompts that included the item. */
  prompt_texts: number;
  /** Opening messages of past turns that contained it. */
  openings: number;
  /** Tool calls that contained it, with their results and approval requests. */
  calls: number;
  /** Summaries of those turns. The threads' next turns create new ones. */
  summaries: number;
}

/** A memory item. */
export interface MemoryResult {
  /** The item. */
  item: MemoryItem;
  /** True if the added item existed already. */
  was_there?: boolean;
}

/** Scope of a memory item. */
export type MemoryScope = "user" | "workspace" | "thread";

/** Words to search for. */
export interface MemorySearchParams {
  /** The workspace. */
  workspace_id: string;
  /** The words. Items with all of them are returned or, if there are none, items with any of them. */
  query: string;
  /** Thread whose visible items to search: its own, the workspace's and the caller's. */
  thread_id?: string;
  /** Most items, from 1 to 100; absent for 20. */
  limit?: number;
}

/** State of a memory item. */
export type MemoryStatus = "active" | "superseded" | "deleted" | "expired";

/** A text of Foreword's own at the end of a message. */
export interface MessageNote {
  /** Id of the section or note. */
  id: string;
  /** The text, including its heading. */
  text: string;
  /** Owner of the personal memory in the text; turns of other users do not receive it again. Absent if it has none. */
  owner?: string;
}

/** Author of a message. */
export type MessageRole = "user" | "assistant" | "tool";

/** Outcome for a candidate file. */
export type Outcome = "used" | "truncated" | "shadowed" | "blank" | "absent" | "not_a_file" | "unreadable" | "over_budget" | "too_deep" | "outside_root" | "not_applicable" | "duplicate" | "disabled" | "ignored" | "above_root";

/** Placement of a thread in a folder. A thread without a placement is at the workspace root. */
export interface Placement {
  /** The thread. */
  thread_id: string;
  /** The folder. */
  folder_id: string;
}

/** A program and its version. */
export interface Program {
  /** Name of the program. */
  name: string;
  /** Version of the program. */
  version: string;
}

/** Reusable part of a prompt, and the cause of the rest. */
export interface PromptBlame {
  /** First difference; absent if the prompts are identical. */
  first_difference?: PromptDifference;
  /** All changed sections, in the order of the text. */
  changed_sections: string[];
  /** Tokens of the earlier prompt. */
  tokens_before: number;
  /** Tokens of the later prompt. */
  tokens_after: number;
  /** Tokens of the common beginning. */
  kept_tokens: number;
  /** Tokens of the earlier prompt that cannot be reused. */
  lost_tokens: number;
  /** Lost tokens of the stable and session parts, which precede the history. */
  lost_prefix_tokens: number;
}

/** Change of a section. */
export type PromptChange = "edited" | "added" | "removed";

/** A problem met while making a prompt. */
export interface PromptDiagnostic {
  /** Code of the problem. */
  code: PromptDiagnosticCode;
  /** Description of the problem, what it affected, and advice. */
  message: string;
  /** Affected section. */
  section_id?: string;
  /** Affected file. */
  file?: string;
}

/** Stable code of a [`PromptDiagnostic`]. */
export type PromptDiagnosticCode = "missing_file" | "file_read_error" | "file_truncated" | "total_budget_truncated" | "section_truncated" | "section_omitted" | "tools_omitted" | "hook_failed" | "hook_timed_out" | "unsafe_text" | "other";

/** Two prompts to compare. */
export interface PromptDiffParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The earlier turn. */
  turn_id: string;
  /** The later turn; absent for the thread's next one, as in `prompt/preview`. */
  other_turn_id?: string;
  /** Directory of the next turn; absent for the workspace's own. */
  cwd?: string;
  /** True to compare with the prompt of a new thread instead of the next turn's. */
  fresh?: boolean;
}

/** Difference between two prompts. */
export interface PromptDiffResult {
  /** Reusable part of the prompt, and the cause of the rest. */
  blame: PromptBlame;
  /** Difference of the thread's frozen start from the disk; absent if there is none, and between two turns. */
  frozen?: FrozenStart;
}

/** First difference between two prompts. */
export interface PromptDifference {
  /** Id of the section. */
  section_id: string;
  /** Expected lifetime of that section. */
  stability: Stability;
  /** Change of the section. */
  change: PromptChange;
  /** Line in the section's text, counting its heading; absent if the texts are not kept. */
  line?: number;
  /** Differing sources of the earlier prompt. */
  sources_before: PromptSource[];
  /** Differing sources of the later prompt. */
  sources_after: PromptSource[];
}

/** SHA-256 hashes of a prompt's parts. */
export interface PromptFingerprints {
  /** Hash of the stable part. */
  stable: string;
  /** Hash of the session part. */
  session: string;
  /** Hash of the turn part. */
  turn: string;
  /** Hash of the session and turn parts together. */
  dynamic: string;
  /** Hash of the whole prompt. */
  full: string;
}

/** A contribution of a hook to the prompt. */
export interface PromptHookSource {
  /** Id of the hook. */
  hook_id: string;
  /** Id of the subscription. */
  subscription_id: string;
  /** Id of the contribution. */
  contribution_id: string;
  /** Id of the resulting section. */
  section_id: string;
  /** Kind of contribution. */
  contribution_kind: ContributionKind;
  /** Priority of the contribution. */
  priority: number;
  /** Number of sources it named. */
  source_count: number;
  /** Component that cut the text. */
  truncation: PromptTruncation;
}

/** A source that was left out of a section. */
export interface PromptLeftOut {
  /** Section that would contain it. */
  section_id: string;
  /** Kind of source: `built_in`, `file`, `document`, `caller`, or one defined by a hook. */
  kind: string;
  /** Path of a file, or of a document's folder. */
  path?: string;
  /** Id of a stored source. */
  id?: string;
  /** Version of the source. */
  version?: number;
  /** SHA-256 of the source's text, if known. */
  sha256?: string;
  /** Owner of personal memory; other users are not shown the text. */
  owner?: string;
  /** Reason for the outcome. */
  reason?: string;
  /** True if the section contains the complete text rather than a line about it. */
  whole?: boolean;
  /** Outcome in terms of its domain: for a skill `untrusted`, `shadowed` and so on. */
  outcome: string;
  /** Explanation for people, with advice. */
  detail?: string;
}

/** Record of one compiled prompt. */
export interface PromptManifest {
  /** Version of the compiler and its texts. */
  compiler_version: string;
  /** Amount of sections. */
  profile: PromptProfile;
  /** Sections, in the order of the text. */
  sections: PromptManifestSection[];
  /** Hashes of the parts. */
  fingerprints: PromptFingerprints;
  /** Problems met while making the prompt. */
  diagnostics: PromptDiagnostic[];
  /** Contributions of hooks. */
  hook_sources: PromptHookSource[];
  /** Sources that were left out of a section, such as untrusted skills; limited to the first entries. */
  left_out?: PromptLeftOut[];
  /** Decisions of hooks about the turn, such as its use of memory. */
  policies?: PromptPolicy[];
  /** Other parts of the request; absent in a preview, and in records of the first version. */
  request?: RoundRequest;
}

/** A section included in the prompt. */
export interface PromptManifestSection {
  /** Id of the section. */
  id: string;
  /** Lifetime of the text. */
  stability: Stability;
  /** Characters, including the heading. */
  chars: number;
  /** Estimated tokens. */
  tokens: number;
  /** SHA-256 of the text, including the heading. */
  sha256: string;
  /** True if the text was cut. */
  truncated: boolean;
  /** Role of the message that contains it; absent for the system role. */
  role?: PromptRole;
  /** True if the text is omitted because an earlier turn in the request already contains it. */
  said_earlier?: boolean;
  /** Sources of the text. */
  sources: PromptSource[];
}

/** Decision of a hook about a turn. */
export interface PromptPolicy {
  /** Id of the hook. */
  hook_id: string;
  /** Name of the setting, such as `memory`. */
  key: string;
  /** The decision. */
  value: unknown;
  /** Reason for a decision that differs from the usual one. */
  reason?: string;
  /** Effect of such a decision on the turn. */
  effect?: string;
}

/** Thread whose next prompt to return. */
export interface PromptPreviewParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** Directory inside the workspace's own; absent for the workspace's own. */
  cwd?: string;
  /** Input of the turn. */
  input?: string;
  /** Context for the turn, as in `turn/start`. */
  context?: string;
  /** Slugs of skills that the turn selects. */
  skills?: string[];
  /** True to ignore the thread's history and session, as in a new thread. */
  fresh?: boolean;
}

/** Amount of sections in a prompt. Each profile includes the sections of the ones before it. */
export type PromptProfile = "none" | "minimal" | "full";

/** Round of a turn. */
export interface PromptRebuildParams {
  /** The workspace. */
  workspace_id: string;
  /** The turn. */
  turn_id: string;
  /** Number of the round; absent for the last one. */
  round?: number;
}

/** A prompt and its manifest. */
export interface PromptResult {
  /** Text that is the same in every session. */
  stable_text: string;
  /** Text that is the same throughout this session. */
  session_text: string;
  /** Session text sent as the first user message; absent in profiles without one. */
  user_text?: string;
  /** Text of this turn, without sections that an earlier turn in the request contains. */
  turn_text: string;
  /** All parts, joined by blank lines. */
  full_text: string;
  /** Manifest of the prompt. */
  manifest: PromptManifest;
  /** Size of the request; absent for a past prompt. */
  sizes?: PromptSizes;
  /** Tools of the first round as a model reads them; absent if there are none, and for a past prompt. */
  tools?: ToolSpec[];
  /** Difference of the thread's frozen start from the disk; absent if there is none, and for a past prompt. */
  frozen?: FrozenStart;
  /** Reason for the project root if no directory has a marker, so that the workspace's directory is the root; absent otherwise, and for a past prompt. `foreword show` in the working directory finds other files then. */
  root_fallback?: string;
}

/** Role of the message that contains a section. */
export type PromptRole = "system" | "user";

/** Estimated tokens of a thread's next request. */
export interface PromptSizes {
  /** Tokens of the prompt's sections. */
  prompt_tokens: number;
  /** Tools of the first round, in the order of the request. */
  tools: ToolSize[];
  /** Tokens of all tools. */
  tool_tokens: number;
  /** Earlier turns as stored now; absent without a thread. */
  history?: ExplainedHistory;
  /** Tokens of prompt, tools and history together. */
  request_tokens: number;
  /** Tokens reserved for the answer. */
  reserve_tokens: number;
  /** Tokens available to a request and its answer together. */
  window_tokens: number;
}

/** Source of a prompt text. */
export interface PromptSource {
  /** Kind of source: `built_in`, `file`, `document`, `caller`, or one defined by a hook. */
  kind: string;
  /** Path of a file, or of a document's folder. */
  path?: string;
  /** Id of a stored source. */
  id?: string;
  /** Version of the source. */
  version?: number;
  /** SHA-256 of the source's text, if known. */
  sha256?: string;
  /** Owner of personal memory; other users are not shown the text. */
  owner?: string;
  /** Reason for including it, in terms of its domain: for a skill `selected`, `path_matched` or `implicit`. */
  reason?: string;
  /** True if the section contains the complete text rather than a line about it. */
  whole?: boolean;
}

/** Component that cut a hook's section. */
export type PromptTruncation = "none" | "hook" | "prompt";

/** A protected file that was changed by a command. */
export interface ProtectedChange {
  /** Path relative to the workspace's root. */
  path: string;
  /** Kind of change. */
  change: FileChange;
  /** True if the change was reverted. */
  undone: boolean;
}

/** API spoken by a provider. */
export type ProviderKind = "anthropic" | "openai" | "openai_compatible";

/** Time at which an agent reads a file. */
export type ReadingTime = "start" | "reading";

/** An item rejected by an import. */
export interface RefusedMemory {
  /** Index of the item in the call, from 0. */
  index: number;
  /** Reason for the rejection. */
  reason: string;
}

/** Files that newly apply to a path, in the format of the public schema. */
export interface ResolvedAgents {
  /** New or changed files. */
  files: ResolvedFile[];
}

/** Effective document of a folder or thread, and its origin. */
export interface ResolvedDocument {
  /** The effective document. */
  doc: Document;
  /** Folder that holds it; absent for the workspace root. */
  source_folder_id?: string;
  /** Names of the folders down to it, root first; empty for the workspace root. */
  source_path: string[];
  /** True if it comes from a scope above the requested one. */
  inherited: boolean;
  /** Requested folder, or the thread's; absent for the workspace root. */
  resolved_for_folder_id?: string;
  /** Time of the resolution. */
  resolved_at: string;
}

/** A file in the result of `resolve`. */
export interface ResolvedFile {
  /** Path of the file. */
  path: string;
  /** Modification time in milliseconds since 1970. */
  mtimeMs: number;
  /** Size in bytes. */
  sizeBytes: number;
}

/** A saved version with its text. */
export interface Revision {
  /** Version number of the revision. */
  version: number;
  /** SHA-256 of the text. */
  content_sha256: string;
  /** Number of characters of the text. */
  char_count: number;
  /** Time of the save. */
  saved_at: string;
  /** Name of the token that saved it. */
  saved_by?: string;
  /** Reason for the revision. */
  save_reason: RevisionReason;
  /** Message of the save. */
  message?: string;
  /** Version whose text was restored; absent if the revision is not a restore. */
  restored_from?: number;
  /** Program that saved it with that token, as it calls itself; absent if unknown. */
  client?: string;
  /** The saved text. */
  content: string;
}

/** Reason for a revision. */
export type RevisionReason = "autosave" | "manual" | "archive" | "restore";

/** A saved version without its text. */
export interface RevisionSummary {
  /** Version number of the revision. */
  version: number;
  /** SHA-256 of the text. */
  content_sha256: string;
  /** Number of characters of the text. */
  char_count: number;
  /** Time of the save. */
  saved_at: string;
  /** Name of the token that saved it. */
  saved_by?: string;
  /** Reason for the revision. */
  save_reason: RevisionReason;
  /** Message of the save. */
  message?: string;
  /** Version whose text was restored; absent if the revision is not a restore. */
  restored_from?: number;
  /** Program that saved it with that token, as it calls itself; absent if unknown. */
  client?: string;
}

/** Role of a token. Each role includes the ones before it. */
export type Role = "reader" | "editor" | "operator" | "owner";

/** Record of one round's prompt. */
export interface RoundManifest {
  /** Number of the round. */
  round: number;
  /** Manifest of the prompt. */
  manifest: PromptManifest;
}

/** A sentence appended for the next round. */
export type RoundNote = "final_answer" | "retry" | "continuation" | "other";

/** Usage of a round's answer, stored in its place between the messages. */
export interface RoundOutcome {
  /** Number of the round in its turn, from 1. */
  round: number;
  /** Tokens used; for an interrupted answer, as far as the provider had reported them. */
  usage: TokenUsage;
  /** Breakpoints up to which the request could be reused. */
  cache_marks?: CacheMark[];
  /** True if the answer broke off, or reached its maximum length. */
  cut?: boolean;
}

/** Parts of a round's request besides its prompt and messages. */
export interface RoundRequest {
  /** Mode of the thread. */
  mode: ThreadMode;
  /** Tools in the request, in order. */
  tools: RoundTool[];
  /** Tool choice of the request. */
  tool_choice: ToolChoice;
  /** Notes at the end of the messages, caused by the previous round. */
  notes?: RoundNote[];
  /** Tools available through `request_tools`, by domain. */
  hidden_tools?: HiddenTools[];
  /** Tools in the request because the thread requested them. */
  requested_tools?: string[];
}

/** A tool in a request. */
export interface RoundTool {
  /** Name of the tool. */
  name: string;
  /** SHA-256 of its description and schema, as JSON. */
  sha256: string;
}

/** Delivery of an instruction text to the model. */
export interface RuleDelivery {
  /** Number of the message; 0 for the system prompt. */
  message: number;
  /** Cause of the delivery. */
  when: DeliveryTime;
  /** Path under which it was delivered. */
  path: string;
}

/** A line of an instruction file. */
export interface RuleLine {
  /** Text of the line, without the marks of a list or heading. */
  text: string;
  /** Path of the file. */
  path: string;
  /** Number of the line, starting with 1. */
  line: number;
}

/** Isolation of commands from the machine, strongest first. */
export type SandboxLevel = "isolated" | "confined" | "off";

/** Reason for a client's save. */
export type SaveReason = "autosave" | "manual";

/** State of a session, stored as JSON. */
export interface Session {
  /** Version of the format. */
  schema: number;
  /** Name of the profile. */
  profile: string;
  /** Working directory. */
  cwd: string;
  /** Project root; absent if only the working directory counts. */
  root?: string;
  /** Root markers that were searched for. */
  markers: string[];
  /** Settings given at the start that decide which files apply. */
  settings?: AgentsConfig;
  /** The frozen start. */
  initial: InitialChain;
  /** Directories whose files the model has. */
  covered_dirs: string[];
  /** Versions of the files that the model knows. */
  loaded_versions: Record<string, FileVersion>;
  /** Known files whose text was never in a request, only their path; absent in sessions of older versions. */
  announced?: string[];
  /** Files and directories touched by calls, up to a limit, for skills and rules with globs. */
  touched?: string[];
}

/** Thread whose session to return. */
export interface SessionGetParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
}

/** Session of a thread. */
export interface SessionGetResult {
  /** The session; absent before a thread's first turn, and in a workspace without a directory. */
  session?: ThreadSession;
}

/** Thread whose session to compare with the disk. */
export interface SessionResumeParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** Directory inside the workspace's own; absent for the workspace's own. */
  cwd?: string;
}

/** Reminder that the next turn would receive about changed files. Nothing counts as delivered yet. */
export interface SessionResumeResult {
  /** The session; absent before a thread's first turn, and in a workspace without a directory. */
  session?: ThreadSession;
  /** The reminder; absent if nothing changed. */
  reminder?: TurnReminder;
}

/** Proof of identity at the console's sign-in. */
export type SignInMethod = "code" | "token";

/** A skill with its complete front matter. */
export interface Skill {
  /** Name by which it is called; for a broken skill, the name of its folder. */
  slug: string;
  /** Purpose of the skill. */
  description: string;
  /** Path of its SKILL.md. */
  path: string;
  /** Outcome of the skill. */
  outcome: SkillOutcome;
  /** Reason for the outcome. */
  reason?: SkillReason;
  /** Explanation for people, with advice. */
  detail?: string;
  /** Files in its folder. */
  files: SkillFile[];
  /** License. */
  license?: string;
  /** Requirements, as written by its author. */
  compatibility?: string;
  /** Tools named by its author. They grant no permission. */
  allowed_tools?: string;
  /** Globs of the paths it applies to. */
  paths?: string[];
  /** Slugs of required skills. */
  requires?: string[];
  /** `metadata` and all other keys, as written. */
  other_keys?: Record<string, unknown>;
  /** Text after the front matter; absent for a skill that cannot be used. */
  body?: string;
}

/** A file of a skill. */
export interface SkillFile {
  /** Path relative to the skill's folder. */
  path: string;
  /** Size in bytes. */
  bytes: number;
  /** SHA-256 of its bytes. */
  sha256: string;
}

/** A skill of a directory. */
export interface SkillGetParams {
  /** The workspace. */
  workspace_id: string;
  /** Thread whose touched files count for skills with globs. */
  thread_id?: string;
  /** Directory inside the workspace's own; absent for the workspace's own. */
  cwd?: string;
  /** Slug of the skill. */
  slug: string;
}

/** A skill: the usable one, or else the nearest unusable one. */
export interface SkillGetResult {
  /** The skill. */
  skill: Skill;
}

/** Directory whose skills to list. */
export interface SkillListParams {
  /** The workspace. */
  workspace_id: string;
  /** Thread whose touched files count for skills with globs. */
  thread_id?: string;
  /** Directory inside the workspace's own; absent for the workspace's own. */
  cwd?: string;
}

/** Skills and their outcomes. */
export interface SkillListResult {
  /** The skills, nearest first. */
  skills: SkillSummary[];
  /** Number of skills beyond the limit of one result; absent if there are none. */
  more?: number;
  /** Problems that make the list incomplete, such as an unreadable trust file. */
  problems?: string[];
}

/** Outcome of a skill. */
export type SkillOutcome = "active" | "shadowed" | "disabled" | "invalid" | "untrusted" | "changed_since_trusted" | "missing_dependency";

/** Reason for a skill's outcome. */
export type SkillReason = "selected" | "path_matched" | "implicit" | "nearer_skill" | "no_path_matched" | "not_implicit" | "unreadable" | "not_a_file" | "outside" | "too_large" | "no_front_matter" | "bad_front_matter" | "bad_name" | "no_description" | "never_trusted" | "trust_unreadable" | "files_differ" | "required_skill";

/** A skill and its outcome. */
export interface SkillSummary {
  /** Name by which it is called; for a broken skill, the name of its folder. */
  slug: string;
  /** Purpose of the skill. */
  description: string;
  /** Path of its SKILL.md. */
  path: string;
  /** Outcome of the skill. */
  outcome: SkillOutcome;
  /** Reason for the outcome. */
  reason?: SkillReason;
  /** Explanation for people, with advice. */
  detail?: string;
}

/** Lifetime of a section's text. Shorter-lived sections come later, so that providers can reuse the beginning. */
export type Stability = "stable" | "session" | "turn";

/** Value of a reminder's `type` attribute. */
export type SystemReminderType = "agents.resolve.paths" | "session.resume.diff" | "tool.output.trimmed" | "permission.decision";

/** A thread and its placement. */
export interface Thread {
  /** Id of the thread. */
  id: string;
  /** The workspace. */
  workspace_id: string;
  /** Folder of the thread; absent at the workspace root. */
  folder_id?: string;
  /** Display name. */
  title: string;
  /** Mode of the thread. */
  mode: ThreadMode;
  /** Thread that delegated work to it; absent for a thread that a person created. */
  parent_thread_id?: string;
  /** Turn that delegated work to it. */
  parent_turn_id?: string;
  /** True if a delegated thread receives the document of its scope. */
  inherits_document?: boolean;
  /** Creation time. */
  created_at: string;
  /** Time of the last rename or move. */
  updated_at: string;
  /** Time at which it was archived. */
  archived_at?: string;
}

/** Fields of a new thread. */
export interface ThreadCreateParams {
  /** The workspace. */
  workspace_id: string;
  /** Folder of the thread; absent for the workspace root. */
  folder_id?: string;
  /** Display name. */
  title: string;
  /** Mode of the thread. */
  mode?: ThreadMode;
}

/** A thread. */
export interface ThreadGetParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
}

/** Page of a folder's threads. */
export interface ThreadListParams {
  /** The workspace. */
  workspace_id: string;
  /** The folder; absent for the workspace root. */
  folder_id?: string;
  /** Id to continue after: `next` of the previous page. */
  after?: string;
  /** Most threads, from 1 to 1000. */
  limit: number;
}

/** Page of a folder's threads. */
export interface ThreadListResult {
  /** Threads that are not archived, oldest first. */
  threads: ThreadSummary[];
  /** Value of `after` for the next page; absent on the last page. */
  next?: string;
}

/** Mode of a thread. */
export type ThreadMode = "chat" | "agent";

/** New folder of a thread. */
export interface ThreadMoveParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** Folder of the thread; absent for the workspace root. */
  folder_id?: string;
}

/** New title of a thread. */
export interface ThreadRenameParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The new title. */
  title: string;
}

/** A thread. */
export interface ThreadResult {
  /** The thread. */
  thread: Thread;
}

/** A thread's stored session. */
export interface ThreadSession {
  /** The thread. */
  thread_id: string;
  /** Number of saves, from 1. */
  version: number;
  /** Time of the last save. */
  updated_at: string;
  /** The session, in the format of `foreword session show`. */
  state: Session;
}

/** A thread as listed by `thread/tree`. Its folder is in the tree's placements. */
export interface ThreadSummary {
  /** Id of the thread. */
  id: string;
  /** Display name. */
  title: string;
  /** Mode of the thread. */
  mode: ThreadMode;
  /** Creation time. */
  created_at: string;
  /** Time of the last rename or move. */
  updated_at: string;
  /** Thread that delegated work to it; absent for a thread that a person created. */
  parent_thread_id?: string;
  /** Turn that delegated work to it. */
  parent_turn_id?: string;
}

/** Part of a workspace's tree. */
export interface ThreadTreeParams {
  /** The workspace. */
  workspace_id: string;
  /** Folder to start from; absent for the workspace root. */
  folder_id?: string;
  /** Levels of folders to descend; 0 for direct children only; absent for all. */
  depth?: number;
  /** Most threads per folder; absent for all. `thread/list` returns the others. */
  thread_limit?: number;
}

/** A tree at one point in time. */
export interface ThreadTreeResult {
  /** The workspace. */
  workspace_id: string;
  /** Newest change contained in the tree. Pass it as `since` to follow from here. */
  seq: number;
  /** Folders, oldest first. */
  folders: Folder[];
  /** Threads that are not archived, oldest first. */
  threads: ThreadSummary[];
  /** Folder of each thread that is not at the workspace root. */
  placements: Placement[];
  /** Draft and active documents. */
  agents_docs: DocumentSummary[];
  /** Numbers of entries left out because of `depth` and `thread_limit`, by folder. */
  more?: TreeMore[];
}

/** Fields of a new token. */
export interface TokenCreateParams {
  /** Name, unique among tokens that are not revoked. */
  name: string;
  /** Role of the token; absent for `reader`. */
  role?: Role;
  /** The only workspace it may access; absent for all. */
  workspace_id?: string;
  /** Expiry time in the future; absent if it does not expire. */
  expires_at?: string;
}

/** A new token with its secret. */
export interface TokenCreateResult {
  /** The token. */
  token: AccessToken;
  /** Secret to send as `Authorization: Bearer …`. It is never shown again. */
  secret: string;
}

/** No parameters. */
export type TokenListParams = Record<string, unknown>;

/** Access tokens. */
export interface TokenListResult {
  /** Tokens, oldest first, including revoked ones. */
  tokens: AccessToken[];
}

/** An access token. */
export interface TokenResult {
  /** The token. */
  token: AccessToken;
}

/** Token to revoke. */
export interface TokenRevokeParams {
  /** Name of the token. */
  name: string;
}

/** Tokens of one request or of a whole turn. Each part is included in its total, regardless of how the provider counts. */
export interface TokenUsage {
  /** All tokens read, cached or not. */
  input?: number;
  /** All tokens written, including reasoning. */
  output?: number;
  /** Part of `input` that was read from a cache. */
  cached_read?: number;
  /** Part of `input` that was written to a cache. */
  cached_write?: number;
  /** Part of `output` spent on reasoning, if the provider reports it. */
  reasoning?: number;
}

/** A tool call as written by the model. Turn items stored by earlier versions name the first two fields `id` and `name`. */
export interface ToolCall {
  /** Id that the result refers to. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** Arguments as written by the model, normally a JSON object. */
  arguments: string;
}

/** Constraint on tool calls. */
export type ToolChoice = "auto" | "none" | "required";

/** A tool and the size of its description. */
export interface ToolSize {
  /** Name of the tool. */
  name: string;
  /** Estimated tokens. */
  tokens: number;
}

/** Description of a tool for a model. */
export interface ToolSpec {
  /** Name by which it is called. */
  name: string;
  /** Purpose and usage, for the model. */
  description: string;
  /** JSON Schema of the arguments, an object. */
  schema: unknown;
}

/** Source of a verdict, most certain first. */
export type TranscriptEvidence = "recorded" | "recovered" | "inferred";

/** A rule, and the thread whose model ignored it. */
export interface TranscriptWhyParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** Text of the rule, or `FILE:LINE`. */
  rule: string;
  /** Words of the violation in a tool call or an answer, or a regular expression between slashes; absent for the end of the thread. */
  when?: string;
}

/** Kind of a change to the tree. */
export type TreeChange = "workspace_created" | "workspace_updated" | "workspace_archived" | "workspace_restored" | "folder_created" | "folder_renamed" | "folder_moved" | "folder_deleted" | "folder_restored" | "thread_created" | "thread_renamed" | "thread_moved" | "thread_archived" | "agents_doc";

/** The workspace, its folders, threads or set of documents changed. */
export interface TreeChanged {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** Kind of change. */
  reason: TreeChange;
  /** Changed folder. */
  folder_id?: string;
  /** Changed thread. */
  thread_id?: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Entries of one folder that are left out of a partial tree. */
export interface TreeMore {
  /** The folder; absent for the workspace root. */
  folder_id?: string;
  /** Number of omitted threads directly in it. */
  threads: number;
  /** Number of omitted folders directly in it. */
  folders?: number;
}

/** A turn of a thread. */
export interface Turn {
  /** Id of the turn. */
  id: string;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** Number of the turn in its thread, from 1. */
  ordinal: number;
  /** State of the turn. */
  status: TurnStatus;
  /** The user's input. */
  input: string;
  /** The answer, complete or so far. */
  answer?: string;
  /** The model, as `provider/model`. */
  model?: string;
  /** Working directory. */
  cwd?: string;
  /** Reason for the missing answer. */
  error?: TurnError;
  /** Tokens used. */
  usage?: TokenUsage;
  /** Start time. */
  created_at: string;
  /** End time. */
  finished_at?: string;
  /** Name of the token that started it. */
  created_by?: string;
  /** The delegating turn; absent for a turn that a person started. */
  parent_turn_id?: string;
}

/** A request for approval and its decision. [`ApprovalRequest`] is a separate type because tools know neither times nor people. */
export interface TurnApproval {
  /** Turn to send the decision to, for a delegated turn; absent for the turn itself. */
  turn_id?: string;
  /** Id of the call. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** Arguments that the tool would run with. */
  arguments: Record<string, unknown>;
  /** Files that the call would write, with links resolved; empty for a command, which may write anywhere. */
  paths: string[];
  /** Base of the call's relative paths, and the directory in which a command runs. */
  cwd?: string;
  /** SHA-256 of exactly what would run: tool, arguments, directory, files and their current contents. Absent in requests stored by earlier versions. */
  digest?: string;
  /** Unified diff of the change; absent if the tool cannot predict it. */
  diff?: string;
  /** True if the call would create the file. */
  new_file?: boolean;
  /** Number of existing lines that the call removes or replaces. */
  replaces_lines?: number;
  /** Rule that requires the approval, such as `permissions.write = ask`. */
  rule: string;
  /** True if the file is part of the model's identity, which all workspaces share. Only an owner with an unbound token may decide. */
  identity?: boolean;
  /** Isolation of the command; absent for tools that run none. */
  sandbox?: SandboxLevel;
  /** Time of the request. */
  requested_at: string;
  /** Time at which the call is denied if it is still undecided. */
  expires_at: string;
  /** The decision; absent while the call waits, and if it expired. */
  decision?: ApprovalDecision;
}

/** An approval was decided. */
export interface TurnApprovalDecided {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Id of the call. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** True if the call may run. */
  allowed: boolean;
  /** Name of the decider; absent if unnamed. */
  decided_by?: string;
  /** Time of the decision. */
  decided_at: string;
  /** Origin of the decision. */
  how?: HowDecided;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** A tool call requires approval; `turn/get` returns the complete request. */
export interface TurnApprovalRequested {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Id of the call. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** SHA-256 of exactly what would run, to be sent with the decision. */
  digest?: string;
  /** True if the call would create the file. */
  new_file?: boolean;
  /** Number of existing lines that the call removes or replaces. */
  replaces_lines?: number;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Decision about a pending approval. */
export interface TurnApproveParams {
  /** The workspace. */
  workspace_id: string;
  /** The turn. */
  turn_id: string;
  /** The call. */
  call_id: string;
  /** True if the call may run. */
  allow: boolean;
  /** Digest that was shown with the question. The decision is rejected if something else would run by now. */
  digest?: string;
  /** Origin of the decision, which is stored, shown, and sent to the model. Only the gateway itself sets `expired`. */
  how?: HowDecided;
}

/** Confirmation of a decision. */
export interface TurnApproveResult {
  /** True if the call may run. */
  allowed: boolean;
}

/** A turn was stopped. */
export interface TurnCancelled {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** A turn completed with an answer. */
export interface TurnCompleted {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** A piece of a turn's answer. It is not part of the change log and is sent only to connections that started or watch the turn. */
export interface TurnDelta {
  /** The turn. */
  turn_id: string;
  /** Index of the piece, from 0 through all rounds of the turn. */
  index: number;
  /** Text that follows the answer so far. All pieces together are the answer. */
  text: string;
}

/** Reason why a turn has no answer. */
export interface TurnError {
  /** Kind of failure. */
  kind: TurnErrorKind;
  /** Description of the failure and what it affected. */
  message: string;
  /** Advice, one piece per line. */
  hint?: string;
  /** The provider that failed. */
  provider?: string;
  /** HTTP status of the provider's response. */
  status?: number;
  /** True if the same turn could succeed later. */
  retryable?: boolean;
}

/** Kind of a turn's failure. */
export type TurnErrorKind = "provider_failed" | "hook_failed" | "interrupted" | "no_answer" | "refused" | "tool_budget_spent" | "too_long" | "failed";

/** Explanation of a turn. */
export interface TurnExplainResult {
  /** The explanation. */
  explanation: TurnExplanation;
}

/** Explanation of a turn: the sources of its prompt and its actions, taken from the store alone. */
export interface TurnExplanation {
  /** The turn, with its answer. */
  turn: Turn;
  /** Instruction files on disk that the model received, and their delivery. */
  files: ExplainedFile[];
  /** Documents, skills, memory and other sources of the prompt's sections. */
  sources: ExplainedSource[];
  /** Sources that were left out of a section, such as untrusted skills; limited to the first entries. */
  left_out?: PromptLeftOut[];
  /** Decisions of hooks about the turn, such as its use of memory. */
  policies?: PromptPolicy[];
  /** Sections of the prompt, in order. */
  sections: PromptManifestSection[];
  /** Problems of the rounds' prompts: truncated texts, missing tools, failed servers. */
  diagnostics?: PromptDiagnostic[];
  /** Hook runs of the turn. */
  hooks: HookRun[];
  /** Tools called in the turn. */
  tools: ExplainedTool[];
  /** Calls that required approval, with their decisions. */
  approvals?: TurnApproval[];
  /** Turns delegated by the turn, directly or indirectly, in order of their start and without answers; tasks are cut to 1,000 characters. */
  delegated?: Turn[];
  /** Background jobs queued by the turn, such as extracting memory. */
  jobs?: ExplainedJob[];
  /** Part of earlier turns that the model received. */
  history?: ExplainedHistory;
  /** Rounds of the turn, in order. */
  rounds: ExplainedRound[];
}

/** A turn ended without an answer. */
export interface TurnFailed {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** A turn. */
export interface TurnGetParams {
  /** The workspace. */
  workspace_id: string;
  /** The turn. */
  turn_id: string;
}

/** A turn with its steps. */
export interface TurnGetResult {
  /** The turn. */
  turn: Turn;
  /** Messages of the turn, in order. */
  steps: TurnStep[];
  /** Value of `after` for the remaining steps; absent if all were returned. */
  next?: number;
  /** Pending approvals, including those of delegated turns. */
  approvals: TurnApproval[];
  /** Decided approvals of calls in these steps. */
  decided?: TurnApproval[];
  /** Turns delegated by the turn, directly or indirectly, in order of their start and without answers; tasks are cut to 1,000 characters. */
  delegated?: Turn[];
}

/** Filter for turns. */
export interface TurnListParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread; absent for turns of all threads that people started, newest first. */
  thread_id?: string;
  /** Most turns, from 1 to 500; absent for 50. */
  limit?: number;
  /** Ordinal that turns of the thread must precede. */
  before?: number;
}

/** Turns of a thread. */
export interface TurnListResult {
  /** Turns, newest first, without their answers. */
  turns: Turn[];
}

/** A model was called with a prompt whose manifest is stored. */
export interface TurnManifestKept {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Number of the round in its turn, from 1. */
  round: number;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Manifests of a turn's prompts. */
export interface TurnManifestResult {
  /** Manifests by round, first round first. */
  manifests: RoundManifest[];
  /** Calls and usage of each round, without texts of notes, summaries and approvals, which `turn/explain` returns. */
  rounds: ExplainedRound[];
}

/** Page of a turn's steps. */
export interface TurnPageParams {
  /** The workspace. */
  workspace_id: string;
  /** The turn. */
  turn_id: string;
  /** Number of steps to skip: `next` of the previous page. */
  after?: number;
}

/** A reminder, rendered as the model reads it. Clients do not need the structured `Reminder` that it was made from. */
export interface TurnReminder {
  /** Type of the reminder. */
  type: SystemReminderType;
  /** Text, including its tags. */
  text: string;
}

/** A past request to a provider. */
export interface TurnRequestResult {
  /** Number of the round in its turn, from 1. */
  round: number;
  /** API of the provider. */
  api: ProviderKind;
  /** Name of the model at its provider. */
  model: string;
  /** SHA-256 of the body, as recorded when it was sent. */
  sha256: string;
  /** Size of the body in bytes. */
  bytes: number;
  /** The body: JSON in a string, so that every byte is kept. */
  body: string;
}

/** A turn. */
export interface TurnResult {
  /** The turn. */
  turn: Turn;
}

/** A failed provider is called again. It is not part of the change log and is sent only to connections that started or watch the turn. */
export interface TurnRetrying {
  /** The turn. */
  turn_id: string;
  /** Number of attempts so far. */
  attempt: number;
  /** Milliseconds until the next attempt. */
  delay_ms: number;
  /** The provider's error message. */
  message: string;
}

/** A new turn. */
export interface TurnStartParams {
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** Input of the user. */
  input: string;
  /** Directory inside the workspace's own; absent for the workspace's own. */
  cwd?: string;
  /** Model as `provider/model`; absent for the gateway's default. */
  model?: string;
  /** Slugs of skills to use in this turn. Each must be usable. */
  skills?: string[];
  /** Names of MCP servers whose tools may be used in this turn. */
  mcp?: string[];
  /** Context for this turn, such as the file that is open in an editor; at most 8,000 characters. The model gets it as data, not as instructions. */
  context?: string;
}

/** A turn started. */
export interface TurnStarted {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** The delegating turn; absent for a turn that a person started. */
  parent_turn_id?: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** State of a turn. */
export type TurnStatus = "running" | "completed" | "failed" | "cancelled";

/** One message of a turn, for display. Stored and resent is [`crate::message::Message`], whose block order and provider-specific reasoning matter only to models. Here, reminders are rendered beside the result they belong to. */
export interface TurnStep {
  /** Author of the message. */
  role: MessageRole;
  /** Text without reminders. */
  text?: string;
  /** Tools called by the model. */
  calls?: ToolCall[];
  /** Results of tool calls. */
  results?: TurnToolResult[];
  /** Reminders that the model received with the message. */
  reminders?: TurnReminder[];
  /** True if the text was cut off at its maximum length. The next answer continues it, if there is one. */
  cut?: boolean;
  /** Time of storage. */
  created_at: string;
}

/** A tool call finished. */
export interface TurnToolFinished {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Id of the call. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** True if it failed. */
  is_error: boolean;
  /** Types of the reminders at the end of its result. */
  reminders: SystemReminderType[];
  /** Isolation of the command; absent for calls that run none. */
  sandbox?: SandboxLevel;
  /** Protected files changed by the command. */
  protected_changes?: ProtectedChange[];
  /** True if the watch ran out of time, so that changes to protected files may be missing. */
  unwatched?: boolean;
  /** Memory items contained in the call or its result, so that forgetting them finds it. */
  memory?: string[];
  /** Owner of the personal memory among those items; turns of other users do not receive the call and its result again. Absent if there is none. */
  memory_owner?: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** Result of a tool call, for display; models receive a `ToolResult`. */
export interface TurnToolResult {
  /** Id of the call. */
  call_id: string;
  /** The result's text. */
  text: string;
  /** True if the call failed. */
  is_error?: boolean;
  /** Reminders at the end of the result. */
  reminders?: TurnReminder[];
}

/** A tool call started. */
export interface TurnToolStarted {
  /** Position in the workspace's change log. */
  seq: number;
  /** The workspace. */
  workspace_id: string;
  /** The thread. */
  thread_id: string;
  /** The turn. */
  turn_id: string;
  /** Id of the call. */
  call_id: string;
  /** Name of the tool. */
  tool: string;
  /** Time of the change, by the database's clock. */
  changed_at: string;
  /** Name of the token that made the change; absent for a gateway's own changes. */
  changed_by?: string;
}

/** A turn that is now followed. */
export interface TurnWatchResult {
  /** Current state of the turn. */
  turn: Turn;
  /** Answer so far. */
  text: string;
  /** Index of the first `turn/delta` that follows `text`; absent if none will follow, because the turn has ended or runs on another gateway. In that case poll `turn/get`. */
  next_index?: number;
  /** Pending approvals, including those of delegated turns. */
  approvals?: TurnApproval[];
  /** Turns delegated so far, directly or indirectly; tasks are cut to 1,000 characters. */
  delegated?: Turn[];
}

/** Relation between a rule and the model's context. */
export type Verdict = "conflicting" | "delivered" | "outdated" | "truncated" | "dropped" | "too_late" | "never_loaded" | "unknown";

/** First tool call or assistant message that matches the search. */
export interface Violation {
  /** Number of the message. */
  message: number;
  /** Tool that was called; absent for an assistant message. */
  tool?: string;
  /** Matching line. */
  text: string;
}

/** A problem to show to the user although the save succeeded. */
export interface Warning {
  /** Stable code, such as `over_prompt_budget`. */
  code: string;
  /** Description of the problem, with advice. */
  message: string;
}

/** Answer to "why did the agent ignore this rule?". */
export interface WhyReport {
  /** The rule. */
  rule: RuleLine;
  /** Verdicts, newest session first. */
  sessions: WhySession[];
}

/** Verdict for one session. */
export interface WhySession {
  /** Name of the agent. */
  agent: string;
  /** Version of the agent; absent if the transcript does not name it. */
  version?: string;
  /** Id of the session. */
  id: string;
  /** Session that started this one; absent unless it is a subagent's. */
  parent?: string;
  /** Title, or the beginning of the first prompt. */
  title?: string;
  /** Start of the session. */
  started_at: string;
  /** Working directory; empty if the transcript does not name it. */
  cwd: string;
  /** The verdict. */
  verdict: Verdict;
  /** Reason for the verdict: a decision of the agent's profile, or a clause. */
  reason?: string;
  /** Source of the verdict. */
  evidence: TranscriptEvidence;
  /** Deliveries of the file's text. */
  deliveries: RuleDelivery[];
  /** Message at which a compaction removed the rule. */
  dropped_at?: number;
  /** Violation that was searched for. */
  violation?: Violation;
  /** Messages between the rule and the violation. */
  messages_before?: number;
  /** Tokens between the rule and the violation, from the sizes of requests that the agent recorded. */
  tokens_before?: number;
  /** Difference between the version that the model had and the file. */
  diff?: string;
  /** One action that prevents this. */
  advice: string;
}

/** A workspace: the unit of sharing, partitioning and access control. */
export interface Workspace {
  /** Id of the workspace. */
  id: string;
  /** Display name. */
  name: string;
  /** Directory on the gateway's machine in which its threads work; absent if it has none. */
  root_path?: string;
  /** Settings for AGENTS.md files on disk. */
  agents?: AgentsConfig;
  /** Creation time. */
  created_at: string;
  /** Time of the last change to its own fields. */
  updated_at: string;
  /** Time at which it was archived; absent for a listed workspace. */
  archived_at?: string;
}

/** Fields of a new workspace. */
export interface WorkspaceCreateParams {
  /** Display name. */
  name: string;
  /** Absolute path of the directory in which its threads work. */
  root_path?: string;
  /** Settings for AGENTS.md files on disk. */
  agents?: AgentsConfig;
}

/** A workspace. */
export interface WorkspaceGetParams {
  /** The workspace. */
  workspace_id: string;
}

/** Filter for workspaces. */
export interface WorkspaceListParams {
  /** True to list archived workspaces instead. */
  archived?: boolean;
}

/** Workspaces. */
export interface WorkspaceListResult {
  /** The workspaces, oldest first. */
  workspaces: Workspace[];
  /** Number of running turns in them; absent if there are none. */
  running_turns?: number;
}

/** A workspace. */
export interface WorkspaceResult {
  /** The workspace. */
  workspace: Workspace;
}

/** Fields of a workspace to change. */
export interface WorkspaceUpdateParams {
  /** The workspace. */
  workspace_id: string;
  /** Display name. */
  name?: string;
  /** Absolute path of the directory in which its threads work. */
  root_path?: string;
  /** Settings for AGENTS.md files on disk, replacing the previous settings. */
  agents?: AgentsConfig;
}

/** All methods by name. */
export interface Methods {
  "initialize": { params: InitializeParams; result: InitializeResult };
  "console/code": { params: ConsoleCodeParams; result: ConsoleCodeResult };
  "workspace/create": { params: WorkspaceCreateParams; result: WorkspaceResult };
  "workspace/update": { params: WorkspaceUpdateParams; result: WorkspaceResult };
  "workspace/archive": { params: WorkspaceGetParams; result: WorkspaceResult };
  "workspace/restore": { params: WorkspaceGetParams; result: WorkspaceResult };
  "workspace/get": { params: WorkspaceGetParams; result: WorkspaceResult };
  "workspace/list": { params: WorkspaceListParams; result: WorkspaceListResult };
  "thread/folder/create": { params: FolderCreateParams; result: FolderResult };
  "thread/folder/get": { params: FolderGetParams; result: FolderResult };
  "thread/folder/rename": { params: FolderRenameParams; result: FolderResult };
  "thread/folder/move": { params: FolderMoveParams; result: FolderResult };
  "thread/folder/delete": { params: FolderGetParams; result: FolderDeleteResult };
  "thread/folder/deleted": { params: FolderDeletedParams; result: FolderDeletedResult };
  "thread/folder/restore": { params: FolderGetParams; result: FolderRestoreResult };
  "thread/create": { params: ThreadCreateParams; result: ThreadResult };
  "thread/get": { params: ThreadGetParams; result: ThreadResult };
  "thread/rename": { params: ThreadRenameParams; result: ThreadResult };
  "thread/move": { params: ThreadMoveParams; result: ThreadResult };
  "thread/archive": { params: ThreadGetParams; result: ThreadResult };
  "thread/tree": { params: ThreadTreeParams; result: ThreadTreeResult };
  "thread/list": { params: ThreadListParams; result: ThreadListResult };
  "thread/agents_doc/get": { params: DocumentScopeParams; result: DocumentGetResult };
  "thread/agents_doc/save": { params: DocumentSaveParams; result: DocumentSaveResult };
  "thread/agents_doc/archive": { params: DocumentArchiveParams; result: DocumentArchiveResult };
  "thread/agents_doc/resolve_for_thread": { params: DocumentResolveForThreadParams; result: DocumentResolveResult };
  "thread/agents_doc/resolve_for_folder": { params: DocumentScopeParams; result: DocumentResolveResult };
  "thread/agents_doc/history": { params: DocumentHistoryParams; result: DocumentHistoryResult };
  "thread/agents_doc/revision": { params: DocumentRevisionParams; result: DocumentRevisionResult };
  "thread/agents_doc/restore": { params: DocumentRestoreParams; result: DocumentRestoreResult };
  "instructions/compare": { params: InstructionsCompareParams; result: Comparison };
  "prompt/preview": { params: PromptPreviewParams; result: PromptResult };
  "prompt/diff": { params: PromptDiffParams; result: PromptDiffResult };
  "prompt/rebuild": { params: PromptRebuildParams; result: PromptResult };
  "turn/start": { params: TurnStartParams; result: TurnResult };
  "turn/get": { params: TurnPageParams; result: TurnGetResult };
  "turn/watch": { params: TurnGetParams; result: TurnWatchResult };
  "turn/list": { params: TurnListParams; result: TurnListResult };
  "turn/cancel": { params: TurnGetParams; result: TurnResult };
  "turn/approve": { params: TurnApproveParams; result: TurnApproveResult };
  "turn/manifest": { params: TurnGetParams; result: TurnManifestResult };
  "turn/request": { params: PromptRebuildParams; result: TurnRequestResult };
  "turn/explain": { params: TurnGetParams; result: TurnExplainResult };
  "transcript/why": { params: TranscriptWhyParams; result: WhyReport };
  "session/get": { params: SessionGetParams; result: SessionGetResult };
  "session/resume": { params: SessionResumeParams; result: SessionResumeResult };
  "skill/list": { params: SkillListParams; result: SkillListResult };
  "skill/get": { params: SkillGetParams; result: SkillGetResult };
  "memory/add": { params: MemoryAddParams; result: MemoryResult };
  "memory/list": { params: MemoryListParams; result: MemoryListResult };
  "memory/get": { params: MemoryGetParams; result: MemoryResult };
  "memory/search": { params: MemorySearchParams; result: MemoryListResult };
  "memory/forget": { params: MemoryGetParams; result: MemoryForgetResult };
  "memory/export": { params: MemoryExportParams; result: MemoryExportResult };
  "memory/import": { params: MemoryImportParams; result: MemoryImportResult };
  "mcp/status": { params: McpStatusParams; result: McpStatusResult };
  "events/subscribe": { params: EventsSubscribeParams; result: EventsResult };
  "events/unsubscribe": { params: EventsUnsubscribeParams; result: EventsResult };
  "token/create": { params: TokenCreateParams; result: TokenCreateResult };
  "token/list": { params: TokenListParams; result: TokenListResult };
  "token/revoke": { params: TokenRevokeParams; result: TokenResult };
  "audit/list": { params: AuditListParams; result: AuditListResult };
}

/** Weakest role that may call each method. */
export const ROLE_OF_METHOD: Record<keyof Methods, Role> = {
  "initialize": "reader",
  "console/code": "reader",
  "workspace/create": "owner",
  "workspace/update": "owner",
  "workspace/archive": "owner",
  "workspace/restore": "owner",
  "workspace/get": "reader",
  "workspace/list": "reader",
  "thread/folder/create": "editor",
  "thread/folder/get": "reader",
  "thread/folder/rename": "editor",
  "thread/folder/move": "editor",
  "thread/folder/delete": "editor",
  "thread/folder/deleted": "reader",
  "thread/folder/restore": "editor",
  "thread/create": "editor",
  "thread/get": "reader",
  "thread/rename": "editor",
  "thread/move": "editor",
  "thread/archive": "editor",
  "thread/tree": "reader",
  "thread/list": "reader",
  "thread/agents_doc/get": "reader",
  "thread/agents_doc/save": "editor",
  "thread/agents_doc/archive": "editor",
  "thread/agents_doc/resolve_for_thread": "reader",
  "thread/agents_doc/resolve_for_folder": "reader",
  "thread/agents_doc/history": "reader",
  "thread/agents_doc/revision": "reader",
  "thread/agents_doc/restore": "editor",
  "instructions/compare": "reader",
  "prompt/preview": "reader",
  "prompt/diff": "reader",
  "prompt/rebuild": "reader",
  "turn/start": "operator",
  "turn/get": "reader",
  "turn/watch": "reader",
  "turn/list": "reader",
  "turn/cancel": "operator",
  "turn/approve": "operator",
  "turn/manifest": "reader",
  "turn/request": "operator",
  "turn/explain": "reader",
  "transcript/why": "reader",
  "session/get": "reader",
  "session/resume": "editor",
  "skill/list": "reader",
  "skill/get": "reader",
  "memory/add": "editor",
  "memory/list": "reader",
  "memory/get": "reader",
  "memory/search": "reader",
  "memory/forget": "editor",
  "memory/export": "reader",
  "memory/import": "editor",
  "mcp/status": "reader",
  "events/subscribe": "reader",
  "events/unsubscribe": "reader",
  "token/create": "owner",
  "token/list": "owner",
  "token/revoke": "owner",
  "audit/list": "owner",
};

/** All notifications by name. */
export interface Notifications {
  "thread/agents_doc/changed": DocumentChanged;
  "thread/tree/changed": TreeChanged;
  "turn/started": TurnStarted;
  "turn/manifest": TurnManifestKept;
  "turn/delta": TurnDelta;
  "turn/retrying": TurnRetrying;
  "turn/tool_started": TurnToolStarted;
  "turn/approval_requested": TurnApprovalRequested;
  "turn/approval_decided": TurnApprovalDecided;
  "turn/tool_finished": TurnToolFinished;
  "context/compressing": ContextCompressing;
  "context/compressed": ContextCompressed;
  "turn/completed": TurnCompleted;
  "turn/failed": TurnFailed;
  "turn/cancelled": TurnCancelled;
}
