/*
 * comment.c
 *		Append the comment of a command, by which MongoDB's administrators see
 *		who asks.
 *
 * The server shows it in currentOp, in its profiler and in its log, and gives
 * it to the getMore commands of a cursor.  Its text is option "comment" of the
 * foreign server, a pattern.  A comment never fails: text that cannot be
 * converted to UTF-8 is replaced, and a long text is cut.
 *
 * Commands that libmongoc sends by itself have no comment, such as hello, nor
 * has killCursors.
 */
#include "driver/comment.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "driver/report.h"

/* That of MongoDB 4.4, the first to accept a comment in each command */
#define COMMENT_WIRE_VERSION 9

/* The most bytes of a comment */
#define MAX_COMMENT 255

/* What stands for a name that there is none of, as in log_line_prefix */
#define UNKNOWN "[unknown]"

/*
 * mts_comment_check
 *		Check a value of option "comment"; false with the reason in *error.
 */
bool
mts_comment_check(const char *pattern, MtsError *error)
{
	for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%'))
		if (at[1] == '\0' || !strchr("adptu%", at[1]))
			return mts_report_refuse(
				error,
				"Each \"%\" must begin one of the escapes %a, %d, %p, %t, "
				"%u and %%.",
				"Write \"%%\" for a percent sign.");
	return true;
}

static void
append_name(StringInfo text, const char *name)
{
	appendStringInfoString(text, name && *name ? name : UNKNOWN);
}

/* Append what an escape stands for. */
static void
append_escape(StringInfo text, char escape, Oid relid)
{
	bool has_catalog = IsTransactionState();
	const char *name;
	char digits[12];

	switch (escape)
	{
		case 'a':
			append_name(text, application_name);
			break;
		case 'd':
			append_name(text,
						has_catalog ? get_database_name(MyDatabaseId) : NULL);
			break;
		case 'p':
			pg_ltoa(MyProcPid, digits);
			appendStringInfoString(text, digits);
			break;
		case 't':
			/* a command can be for no table */
			name = has_catalog ? get_rel_name(relid) : NULL;
			if (!name)
				break;
			appendStringInfoString(text, quote_identifier(get_namespace_name(
											 get_rel_namespace(relid))));
			appendStringInfoChar(text, '.');
			appendStringInfoString(text, quote_identifier(name));
			break;
		case 'u':
			append_name(text, has_catalog
								  ? GetUserNameFromId(GetSessionUserId(), true)
								  : NULL);
			break;
		default:
			appendStringInfoChar(text, escape);
	}
}

/* Make a text valid UTF-8 of at most MAX_COMMENT bytes. */
static void
clean(StringInfo text)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		for (int i = 0; i < text->len; i++)
			if (IS_HIGHBIT_SET(text->data[i]))
				text->data[i] = '?';
	if (text->len > MAX_COMMENT)
		text->len =
			pg_encoding_mbcliplen(PG_UTF8, text->data, text->len, MAX_COMMENT);
	while (text->len > 0 && text->data[text->len - 1] == ' ')
		text->len--;
	text->data[text->len] = '\0';
}

/*
 * mts_comment_append
 *		Append the comment of a command to the server that has been selected.
 */
void
mts_comment_append(const MtsAttempt *attempt, bson_t *command)
{
	StringInfoData text;

	if (attempt->server.wire_version < COMMENT_WIRE_VERSION)
		return;
	initStringInfo(&text);
	for (const char *at = attempt->connection->comment; *at; at++)
		if (*at == '%')
			append_escape(&text, *++at, attempt->relid);
		else
			appendStringInfoChar(&text, *at);
	clean(&text);
	if (text.len > 0)
		bson_append_utf8(command, "comment", -1, text.data, text.len);
	pfree(text.data);
}
