/*
 * command_log.c
 *		Log the commands that are sent to MongoDB, with the time that each took
 *		and what came back.
 *
 * A command is logged when its reply is asked for.  libmongoc's handshakes and
 * logins are not logged.  Only the text of commands in a list is shown:
 * mongo_ts_command can send others, which have passwords.
 *
 * This also runs while a transaction ends.  So it neither raises an error nor
 * looks into a catalog, and texts are in buffers that cut them.
 */
#include "postgres.h"

#include "driver/command_log.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "core/bson/print.h"
#include "driver/document.h"

/* The bytes of a text that are logged, at most */
#define MAX_TEXT 1000

/* A text in the encoding of the database */
typedef struct Text
{
	char data[MAX_TEXT + sizeof("...")];
	int len;
	bool is_cut;
} Text;

bool mts_log_commands = false;

/* A command that has no reply yet */
typedef struct Running
{
	MtsTicket ticket; /* 0 if it is not logged */
	int64 began;      /* in monotonic microseconds */
	Text what;        /* find on "database.collection" */
	Text text;        /* empty if it is not shown */
} Running;

/* More than can be under way; those that nobody waits for are replaced. */
static Running running[32];
static int nrunning = 0;

/* Commands whose text is shown; none has a password. */
static const char *const shown_commands[] =
	{"aggregate",   "collStats", "count",  "create",      "createIndexes",
	 "delete",      "distinct",  "drop",   "dropIndexes", "explain",
	 "find",        "getMore",   "insert", "killCursors", "listCollections",
	 "listIndexes", "update"};

/* ---- Texts -------------------------------------------------------------- */

/* Append a piece in the encoding of the database, unless the text is cut. */
static void
append_piece(Text *text, const char *piece, int len)
{
	int room = MAX_TEXT - text->len;

	if (text->is_cut)
		return;
	if (len > room)
	{
		text->is_cut = true;
		len = pg_encoding_mbcliplen(GetDatabaseEncoding(), piece, len, room);
	}
	memcpy(text->data + text->len, piece, len);
	text->len += len;
	strcpy(text->data + text->len, text->is_cut ? "..." : "");
}

/*
 * Append a text in UTF-8: an MtsSink.  A text that is malformed ends before
 * that.  To convert it to another encoding could raise an error, so characters
 * are escaped there.
 */
static void
append_utf8(void *arg, const char *utf8, size_t size)
{
	Text *text = arg;
	int len = pg_encoding_verifymbstr(PG_UTF8, utf8, (int) size);

	if (GetDatabaseEncoding() == PG_UTF8)
		append_piece(text, utf8, len);
	else
		for (int i = 0, step; i < len && !text->is_cut; i += step)
		{
			const unsigned char *c = (const unsigned char *) utf8 + i;
			char escape[MTS_ESCAPE_SIZE];

			step = pg_utf_mblen(c);
			if (step == 1)
				append_piece(text, (const char *) c, 1);
			else
				append_piece(text, escape, mts_document_escape(c, escape));
		}
}

static void
append_text(Text *text, const char *utf8)
{
	append_utf8(text, utf8, strlen(utf8));
}

/* ---- Commands ----------------------------------------------------------- */

static bool
is_shown(const char *name)
{
	for (int i = 0; i < lengthof(shown_commands); i++)
		if (strcmp(shown_commands[i], name) == 0)
			return true;
	return false;
}

/* Tell whether a field has what each command has: session and database. */
static bool
is_of_protocol(const char *key)
{
	return *key == '$' || strcmp(key, "lsid") == 0 ||
		   strcmp(key, "txnNumber") == 0;
}

/* Tell whether a field has the operations of a bulk write. */
static bool
is_operations(const bson_iter_t *field)
{
	const char *key = bson_iter_key(field);

	return BSON_ITER_HOLDS_ARRAY(field) &&
		   (strcmp(key, "documents") == 0 || strcmp(key, "updates") == 0 ||
			strcmp(key, "deletes") == 0);
}

/* Append an array with its first element only; return how many it has. */
static int
append_first(bson_t *doc, const bson_iter_t *array)
{
	bson_iter_t element;
	bson_t list;
	int n = 0;

	bson_append_array_begin(doc, bson_iter_key(array), -1, &list);
	if (bson_iter_recurse(array, &element))
		while (bson_iter_next(&element))
			if (n++ == 0)
				bson_append_iter(&list, NULL, 0, &element);
	bson_append_array_end(doc, &list);
	return n;
}

/* Append fields of a command; *noperations gets the number of a bulk write. */
static void
append_shown(bson_t *shown, const bson_t *fields, int *noperations)
{
	bson_iter_t field;

	if (!bson_iter_init(&field, fields))
		return;
	while (bson_iter_next(&field))
	{
		if (is_operations(&field))
			*noperations = append_first(shown, &field);
		else if (!is_of_protocol(bson_iter_key(&field)))
			bson_append_iter(shown, NULL, 0, &field);
	}
}

/* Describe a command and its fields; returns the number of its operations. */
static int
describe_command(const bson_t *command, const bson_t *fields, Text *text)
{
	MtsSink sink = {append_utf8, text};
	bson_t shown = BSON_INITIALIZER;
	int noperations = 0;

	append_shown(&shown, command, &noperations);
	append_shown(&shown, fields, &noperations);
	mts_print_document(&shown, false, MTS_PRINT_SHELL, &sink);
	bson_destroy(&shown);
	return noperations;
}

/* Return the collection that a command names, or NULL. */
static const char *
collection_of(const bson_t *command)
{
	bson_iter_t field;

	if (!bson_iter_init(&field, command) || !bson_iter_next(&field))
		return NULL;
	if (BSON_ITER_HOLDS_UTF8(&field))
		return bson_iter_utf8(&field, NULL);
	/* of getMore */
	return bson_iter_find(&field, "collection") && BSON_ITER_HOLDS_UTF8(&field)
			   ? bson_iter_utf8(&field, NULL)
			   : NULL;
}

/*
 * mts_command_log_sent
 *		Record a command that was sent, with the fields that are appended.
 */
void
mts_command_log_sent(MtsTicket ticket, const char *database,
					 const bson_t *command, const bson_t *fields)
{
	Running *new = &running[nrunning];
	const char *collection;
	bson_iter_t first;
	const char *name;
	int noperations = 0;

	if (!mts_log_commands || !bson_iter_init(&first, command) ||
		!bson_iter_next(&first))
		return;
	name = bson_iter_key(&first);
	nrunning = (nrunning + 1) % lengthof(running);
	collection = is_shown(name) ? collection_of(command) : NULL;
	new->ticket = ticket;
	new->began = bson_get_monotonic_time();
	new->what = new->text = (Text){0};
	append_text(&new->what, name);
	append_text(&new->what, " on \"");
	append_text(&new->what, database);
	append_text(&new->what, collection ? "." : "");
	append_text(&new->what, collection ? collection : "");
	append_text(&new->what, "\"");
	if (is_shown(name))
		noperations = describe_command(command, fields, &new->text);
	if (noperations > 0)
	{
		char count[32];

		snprintf(count, sizeof(count), ", %d operation%s", noperations,
				 noperations == 1 ? "" : "s");
		append_text(&new->what, count);
	}
}

/* ---- Replies ------------------------------------------------------------ */

/* Return the number of elements of an array, or -1 when there is none. */
static int
count_elements(const bson_t *reply, const char *path)
{
	bson_iter_t iter, array, element;
	int n = 0;

	if (!bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, path, &array) ||
		!BSON_ITER_HOLDS_ARRAY(&array) || !bson_iter_recurse(&array, &element))
		return -1;
	while (bson_iter_next(&element))
		n++;
	return n;
}

/* Append "name: n", unless n is negative. */
static void
append_count(Text *text, const char *name, int64 n)
{
	char count[64];

	if (n < 0)
		return;
	snprintf(count, sizeof(count), "%s%s: " INT64_FORMAT,
			 text->len > 0 ? ", " : "", name, n);
	append_text(text, count);
}

/* Return the number in a field, or -1 when there is none. */
static int64
number_of(const bson_t *reply, const char *field)
{
	return bson_has_field(reply, field) ? mts_document_number(reply, field)
										: -1;
}

/*
 * mts_command_log_emit
 *		Log a message within a callback of libmongoc's or a rollback; detail
 *		can be NULL.
 *
 * No error and no interrupt leaves it, because they would jump through
 * libmongoc's frames, or begin the rollback again.  A character that the
 * client's encoding lacks is an error.  The client does not get the message
 * then, but the log has it; returns false.
 */
bool
mts_command_log_emit(int level, const char *message, const char *detail)
{
	ErrorContextCallback *callbacks = error_context_stack;
	MemoryContext context = CurrentMemoryContext;
	uint32 held = InterruptHoldoffCount;
	volatile bool ok = true;

	error_context_stack = NULL;
	HOLD_INTERRUPTS();
	PG_TRY();
	{
		ereport(level,
				(errmsg("%s", message), detail ? errdetail("%s", detail) : 0,
				 errhidestmt(true)));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		ok = false;
	}
	PG_END_TRY();
	/* an error has reset it */
	InterruptHoldoffCount = held;
	error_context_stack = callbacks;
	return ok;
}

/* Log the command that has ended. */
static void
log_end(MtsTicket ticket, const Text *outcome)
{
	char message[2 * sizeof(Text)];

	for (int i = 0; i < lengthof(running); i++)
	{
		Running *ended = &running[i];

		if (ended->ticket != ticket)
			continue;
		ended->ticket = 0;
		snprintf(message, sizeof(message), "MongoDB %s, duration: %.3f ms, %s",
				 ended->what.data,
				 (bson_get_monotonic_time() - ended->began) / 1000.0,
				 outcome->data);
		(void) mts_command_log_emit(LOG, message,
									ended->text.len > 0 ? ended->text.data
														: NULL);
	}
}

/* Log a command that failed, and why. */
static void
log_failure(MtsTicket ticket, const bson_error_t *error)
{
	Text outcome = {0};

	append_text(&outcome, "error: ");
	append_text(&outcome, error->message);
	log_end(ticket, &outcome);
}

/*
 * mts_command_log_received
 *		Log a command that the server has answered, and how many documents it
 *		returned or changed; or the error of one without a reply, or whose
 *		reply says that it failed.
 */
void
mts_command_log_received(MtsTicket ticket, const bson_t *reply,
						 const bson_error_t *error)
{
	Text outcome = {0};

	if (ticket == 0 || !mts_log_commands)
		return;
	if (!reply || (mts_document_number(reply, "ok") == 0 &&
				   bson_has_field(reply, "errmsg")))
	{
		log_failure(ticket, error);
		return;
	}
	append_count(&outcome, "documents",
				 count_elements(reply, "cursor.firstBatch"));
	append_count(&outcome, "documents",
				 count_elements(reply, "cursor.nextBatch"));
	append_count(&outcome, "n", number_of(reply, "n"));
	append_count(&outcome, "nModified", number_of(reply, "nModified"));
	append_count(&outcome, "upserted", count_elements(reply, "upserted"));
	append_count(&outcome, "writeErrors",
				 count_elements(reply, "writeErrors"));
	if (outcome.len == 0)
		append_text(&outcome, "done");
	log_end(ticket, &outcome);
}

/* mts_command_log_unanswered: log a command that gets no reply. */
void
mts_command_log_unanswered(MtsTicket ticket)
{
	Text outcome = {0};

	append_text(&outcome, "sent");
	log_end(ticket, &outcome);
}
