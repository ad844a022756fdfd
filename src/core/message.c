/*
 * message.c
 *		Check a reply of MongoDB's wire protocol before libmongoc reads it.
 *
 * libmongoc takes for granted that the lengths in a reply agree with each
 * other: it reads behind the message's end where they don't, stops the process,
 * or takes a batch of documents that breaks off for its end.  What stands
 * within the documents of a batch is not looked at here: who unfolds them does
 * that.  Nor is what a compressed message holds.
 */
#include "core/message.h"

#include <string.h>

#include "core/sound.h"

/* MongoDB's largest message, with room for a server that allows some more */
#define MAX_LENGTH (64 * 1024 * 1024)

/* MongoDB nests no deeper than 100 levels */
#define MAX_DEPTH 128

#define OP_REPLY 1
#define OP_COMPRESSED 2012

/* Bytes of its opcode, its size and its compressor's number */
#define COMPRESSED_FIELDS 9
#define COMPRESSOR_NONE 0
#define OP_MSG 2013

/* An OP_REPLY's flags, cursor, first document's number and their number */
#define REPLY_FIELDS 20

/* mts_message_int32: a number of the header, as the wire has it. */
int32_t
mts_message_int32(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return (int32_t) BSON_UINT32_FROM_LE(n);
}

/* mts_message_length_problem: why can't a message be so long?  NULL: it can. */
const char *
mts_message_length_problem(int32_t length)
{
	return length < MTS_MESSAGE_HEADER || length > MAX_LENGTH
			   ? "it is not a message of MongoDB's wire protocol"
			   : NULL;
}

/* Is an array one of documents, each as long as it says? */
static bool
is_batch(const MtsElement *array)
{
	MtsCursor cursor, inner;
	MtsElement child;
	MtsNext next;

	if (array->type != BSON_TYPE_ARRAY ||
		!mts_cursor_open(&cursor, array->value, array->size))
		return false;
	while ((next = mts_cursor_next(&cursor, &child)) == MTS_NEXT_OK)
		if (child.type != BSON_TYPE_DOCUMENT ||
			!mts_cursor_open(&inner, child.value, child.size))
			return false;
	return next == MTS_NEXT_END;
}

/* "database.collection" */
static bool
is_namespace(const MtsElement *field)
{
	const char *name, *period;
	size_t len;

	if (field->type != BSON_TYPE_UTF8)
		return false;
	name = mts_element_text(field, &len);
	period = memchr(name, '.', len);
	return period > name && period + 1 < name + len && strlen(name) == len;
}

/* {id: .., ns: .., firstBatch: [{..}, ..]}; of two of a name libmongoc takes the
 * last, and the documents of the first would be lost */
static const char *
cursor_problem(const MtsElement *document)
{
	MtsCursor cursor;
	MtsElement field;
	MtsNext next;
	bool has_id = false;
	bool has_batch = false;

	if (document->type != BSON_TYPE_DOCUMENT ||
		!mts_cursor_open(&cursor, document->value, document->size))
		return "its cursor is not a document";
	while ((next = mts_cursor_next(&cursor, &field)) == MTS_NEXT_OK)
	{
		if (strcmp(field.key, "id") == 0)
		{
			if (has_id || field.type != BSON_TYPE_INT64)
				return "its cursor has no number, or two";
			has_id = true;
		}
		else if (strcmp(field.key, "firstBatch") == 0 ||
				 strcmp(field.key, "nextBatch") == 0)
		{
			if (has_batch)
				return "its cursor has two batches";
			has_batch = true;
			if (!is_batch(&field))
				return "its batch is not an array of whole documents";
		}
		else if (strcmp(field.key, "ns") == 0)
		{
			if (!is_namespace(&field))
				return "its cursor does not name a collection";
		}
		else if (!mts_element_is_whole(&field, MAX_DEPTH))
			return "its cursor is incomplete";
	}
	if (next != MTS_NEXT_END)
		return "its cursor is incomplete";
	return has_id && has_batch ? NULL : "its cursor has no number or no batch";
}

/* Fields whose type libmongoc takes for granted */
static const char *
field_problem(const MtsElement *field)
{
	if (strcmp(field->key, "cursor") == 0)
		return cursor_problem(field);
	if (!mts_element_is_whole(field, MAX_DEPTH))
		return "its document is incomplete";
	if (strcmp(field->key, "writeErrors") == 0)
		return is_batch(field) ? NULL : "its errors are not documents";
	if (strcmp(field->key, "writeConcernError") == 0)
		return field->type == BSON_TYPE_DOCUMENT
				   ? NULL
				   : "its error is not a document";
	if (strcmp(field->key, "errorLabels") == 0)
		return field->type == BSON_TYPE_ARRAY ? NULL
											  : "its labels are not an array";
	return NULL;
}

static const char *
document_problem(const uint8_t *document, size_t size)
{
	MtsCursor cursor;
	MtsElement field;
	MtsNext next;
	bool has_ok = false;

	if (!mts_cursor_open(&cursor, document, size))
		return "its document has another length than the message";
	while ((next = mts_cursor_next(&cursor, &field)) == MTS_NEXT_OK)
	{
		const char *problem = field_problem(&field);

		if (problem)
			return problem;
		has_ok = has_ok || strcmp(field.key, "ok") == 0;
	}
	if (next != MTS_NEXT_END)
		return "its document is incomplete";
	return has_ok ? NULL : "it does not say whether the command succeeded";
}

/* Why can't this be the body of a reply with an opcode?  NULL: it is sound. */
static const char *
body_problem(int32_t opcode, const uint8_t *body, const uint8_t *end)
{
	switch (opcode)
	{
		case OP_MSG:
			/* no flags, and a section of kind 0, which is a document */
			if (end - body < 5 || mts_message_int32(body) != 0 || body[4] != 0)
				return "it has flags or sections that were not asked for";
			return document_problem(body + 5, end - body - 5);
		case OP_REPLY:
			if (end - body < REPLY_FIELDS || mts_message_int32(body + 16) != 1)
				return "it does not hold one document";
			return document_problem(body + REPLY_FIELDS,
									end - body - REPLY_FIELDS);
		default:
			return "it is not a reply";
	}
}

/*
 * mts_message_problem
 *		Why can't this be the reply to a request?  NULL: it is sound.
 *
 * The message is given without its length, of which size is the rest.  Of what
 * is really compressed, where it may be, only the envelope is looked at.
 */
const char *
mts_message_problem(const uint8_t *message, size_t size, int32_t request,
					bool may_compress)
{
	const uint8_t *body = message + MTS_MESSAGE_HEADER - MTS_MESSAGE_LENGTH;
	const uint8_t *end = message + size;
	int32_t opcode = mts_message_int32(message + 8);

	if (mts_message_int32(message + 4) != request)
		return "it answers another request";
	if (opcode != OP_COMPRESSED)
		return body_problem(opcode, body, end);
	if (!may_compress)
		return "it is compressed, which was not asked for";
	if (end - body < COMPRESSED_FIELDS)
		return "it is incomplete";
	return body[COMPRESSED_FIELDS - 1] != COMPRESSOR_NONE
			   ? NULL
			   : body_problem(mts_message_int32(body),
							  body + COMPRESSED_FIELDS, end);
}
