"""Every name that leaves the process: spans, attributes, metrics, events.

The `gen_ai.*` names are those of the GenAI semantic conventions (open-telemetry/semantic-conventions-genai, status
Development) as opentelemetry-util-genai 1.3b0 has them, and of opentelemetry-semantic-conventions 0.66b2 for the
metrics; `gen_ai.memory.*` and `gen_ai.usage.cache_write.*` come from the former only. `firsthand.*` is ours.
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "firsthand"

SPAN_TURN: Final = "firsthand.turn"
SPAN_HOOK: Final = "firsthand.hook"
SPAN_RECALL: Final = "search_memory"

EVENT_HOOK_CALL: Final = "firsthand.hook_call"
EVENT_TRANSCRIPT_ERROR: Final = "firsthand.transcript_error"
EVENT_REMEMBER_ERROR: Final = "firsthand.remember_error"
EVENT_INFERENCE: Final = "gen_ai.client.inference.operation.details"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
ERROR_TYPE: Final = "error.type"

REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
CHOICE_COUNT: Final = "choice.count"
TOOL_DEFINITIONS_OPTION: Final = "tool.definitions"
REQUEST_OPTIONS: Final = {
    "choice.count": "gen_ai.request.choice.count",
    "dimension.count": "gen_ai.embeddings.dimension.count",
    "encoding_formats": "gen_ai.request.encoding_formats",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "max_tokens": "gen_ai.request.max_tokens",
    "output.type": "gen_ai.output.type",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "previous_response.id": "gen_ai.request.previous_response.id",
    "reasoning.level": "gen_ai.request.reasoning.level",
    "seed": "gen_ai.request.seed",
    "stop_sequences": "gen_ai.request.stop_sequences",
    "temperature": "gen_ai.request.temperature",
    "top_k": "gen_ai.request.top_k",
    "top_p": "gen_ai.request.top_p",
}
"""Suffix in `Request.options` -> attribute. What is not listed is not exported: an unknown option may hold text."""

RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"

INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"

INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
SUBMITTED_PROMPT: Final = "firsthand.submitted_prompt"
INJECTION_MESSAGES: Final = "firsthand.injection.messages"
CONTENT_DROPPED: Final = "firsthand.content.dropped"
"""True when content was to be captured and could not be redacted."""

MEMORY_STORE_ID: Final = "gen_ai.memory.store.id"
MEMORY_RECORD_COUNT: Final = "gen_ai.memory.record.count"
MEMORY_QUERY_TEXT: Final = "gen_ai.memory.query.text"
MEMORY_RECORDS: Final = "gen_ai.memory.records"
RECALL_OUTCOME: Final = "firsthand.recall.outcome"
RECALL_FOUND: Final = "firsthand.recall.found"
"""What the store found, with what the request held already; `MEMORY_RECORD_COUNT` is what was sent of it."""

INJECTION_COUNT: Final = "firsthand.injection.count"
INJECTION_CHARS: Final = "firsthand.injection.chars"
INJECTION_SOURCES: Final = "firsthand.injection.sources"
INJECTION_TRUNCATED: Final = "firsthand.injection.truncated"
INJECTION_SUSPECTED: Final = "firsthand.injection.suspected"
TURN_ORIGIN: Final = "firsthand.turn.origin"
TURN_OUTCOME: Final = "firsthand.turn.outcome"

HOOK: Final = "firsthand.hook."
HOOK_EVENT: Final = "firsthand.hook.event"
HOOK_TYPE: Final = "firsthand.hook.type"
HOOK_NAME: Final = "firsthand.hook.name"
HOOK_OUTCOME: Final = "firsthand.hook.outcome"
HOOK_DURATION_MS: Final = "firsthand.hook.duration_ms"
HOOK_SUCCESS: Final = "firsthand.hook.success"
HOOK_EXIT_CODE: Final = "firsthand.hook.exit_code"
HOOK_OUTPUT_CHARS: Final = "firsthand.hook.output_chars"
HOOK_ERROR: Final = "firsthand.hook.error"

METRIC_DURATION: Final = "gen_ai.client.operation.duration"
METRIC_FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"
METRIC_TOKENS: Final = "gen_ai.client.token.usage"
METRIC_HOOK_DURATION: Final = "firsthand.hook.duration"
METRIC_RECALL_DURATION: Final = "firsthand.recall.duration"
METRIC_RECALL_MATCHES: Final = "firsthand.recall.matches"
METRIC_INJECTION_SIZE: Final = "firsthand.injection.size"
METRIC_INPUT_SIZE: Final = "firsthand.input.size"
METRIC_TURN_COUNT: Final = "firsthand.turn.count"
METRIC_DROPPED: Final = "firsthand.export.dropped"

LABEL_TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - a kind of token, no secret
LABEL_EVENT: Final = "event"
LABEL_TYPE: Final = "type"
LABEL_OUTCOME: Final = "outcome"
LABEL_SOURCE: Final = "source"
LABEL_ORIGIN: Final = "origin"
LABEL_SIGNAL: Final = "signal"
