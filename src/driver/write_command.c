/*
 * write_command.c
 *		Make the command that does some writes: insert, update or delete.
 *
 * A command that may be sent again in another transaction names the _id of
 * each new document, because later commands may name it, too.  Otherwise the
 * server would choose another one each time.
 */
#include "driver/write_command.h"

#include "core/bson/template.h"
#include "driver/comment.h"

/* MongoDB's limit of the writes of a command */
#define MAX_STATEMENTS 100000

/* The bytes that a write adds to its documents in a command, at most */
#define STATEMENT_OVERHEAD 192

/* Return the bytes that a write has in its command, or a few more. */
static size_t
statement_size(const MtsForm *form)
{
	return STATEMENT_OVERHEAD + (form->selector ? form->selector->len : 0) +
		   (form->document ? form->document->len : 0);
}

/*
 * mts_write_command_length
 *		Return how many of some writes, from the first on, fit in one command,
 *		and get its bytes, or a few more.
 */
int
mts_write_command_length(MtsOp *const *ops, int nops, size_t *size)
{
	int n = 0;

	*size = 0;
	while (n < nops && n < MAX_STATEMENTS &&
		   mts_op_form(ops[0])->kind == mts_op_form(ops[n])->kind)
	{
		size_t more = statement_size(mts_op_form(ops[n]));

		if (n > 0 && *size + more > MTS_MAX_DOCUMENT)
			break;
		*size += more;
		n++;
	}
	return n;
}

/* Tell whether an update is a pipeline, which is an array. */
static bool
is_pipeline(const bson_t *update)
{
	bson_iter_t iter;

	return bson_iter_init(&iter, update) && bson_iter_next(&iter) &&
		   strcmp(bson_iter_key(&iter), "0") == 0;
}

/* Tell whether the selector of an upsert names the _id or its fields. */
static bool
has_id(const bson_t *selector)
{
	bson_iter_t iter;

	if (bson_iter_init(&iter, selector))
		while (bson_iter_next(&iter))
			if (strcmp(bson_iter_key(&iter), "_id") == 0 ||
				strncmp(bson_iter_key(&iter), "_id.", 4) == 0)
				return true;
	return false;
}

static void
append_new_id(bson_t *doc)
{
	bson_oid_t oid;

	bson_oid_init(&oid, NULL);
	bson_append_oid(doc, "_id", 3, &oid);
}

/* Append a document to be inserted, with an _id. */
static void
append_with_id(bson_t *list, const char *key, int len, const bson_t *document)
{
	bson_t copy;

	bson_append_document_begin(list, key, len, &copy);
	append_new_id(&copy);
	bson_concat(&copy, document);
	bson_append_document_end(list, &copy);
}

/* Append a pipeline with a stage that gives a new document an _id. */
static void
append_pipeline_with_id(const bson_t *pipeline, bson_t *statement)
{
	bson_t id = BSON_INITIALIZER, list;

	append_new_id(&id);
	bson_append_array_begin(statement, "u", 1, &list);
	bson_concat(&list, pipeline);
	mts_template_push(&list, "{$set: {_id: {$ifNull: ['$_id', %b]}}}", &id);
	bson_append_array_end(statement, &list);
	bson_destroy(&id);
}

/* Append operators that give a new document an _id. */
static void
append_operators_with_id(const bson_t *operators, bson_t *statement)
{
	bson_t update, set, fields;
	bson_iter_t iter;
	uint32_t len;
	const uint8_t *data;

	bson_append_document_begin(statement, "u", 1, &update);
	bson_copy_to_excluding_noinit(operators, &update, "$setOnInsert", NULL);
	bson_append_document_begin(&update, "$setOnInsert", -1, &set);
	append_new_id(&set);
	if (bson_iter_init_find(&iter, operators, "$setOnInsert") &&
		BSON_ITER_HOLDS_DOCUMENT(&iter))
	{
		bson_iter_document(&iter, &len, &data);
		if (bson_init_static(&fields, data, len))
			bson_concat(&set, &fields);
	}
	bson_append_document_end(&update, &set);
	bson_append_document_end(statement, &update);
}

/* Append {q: selector, u: update, upsert: true} or {q: selector, limit: 1}. */
static void
append_statement(const MtsAttempt *attempt, const MtsForm *form, bool names_id,
				 bson_t *statement)
{
	const bson_t *update = form->document;

	names_id &= form->kind == MTS_OP_UPSERT && !has_id(form->selector);
	bson_append_document(statement, "q", 1, form->selector);
	if (!update)
		bson_append_int32(statement, "limit", 5, form->kind == MTS_OP_DELETE);
	else if (is_pipeline(update))
	{
		if (names_id)
			append_pipeline_with_id(update, statement);
		else
			bson_append_array(statement, "u", 1, update);
	}
	else if (names_id)
		append_operators_with_id(update, statement);
	else
		bson_append_document(statement, "u", 1, update);
	if (form->kind == MTS_OP_UPSERT)
		bson_append_bool(statement, "upsert", 6, true);
	mts_attempt_append_collation(attempt, statement);
}

/*
 * mts_write_command_make
 *		Make the command that does n writes of one kind.
 *
 * With names_ids, it names the _id of each new document.  The caller destroys
 * the command.
 */
bson_t *
mts_write_command_make(const MtsAttempt *attempt, MtsOp *const *ops, int n,
					   const char *collection, bool names_ids)
{
	static const char *const names[][2] =
		{[MTS_OP_INSERT] = {"insert", "documents"},
		 [MTS_OP_UPDATE] = {"update", "updates"},
		 [MTS_OP_UPSERT] = {"update", "updates"},
		 [MTS_OP_DELETE] = {"delete", "deletes"},
		 [MTS_OP_DELETE_MANY] = {"delete", "deletes"}};
	MtsOpKind kind = mts_op_form(ops[0])->kind;
	bson_t *command = bson_new();
	bson_t list;

	bson_append_utf8(command, names[kind][0], -1, collection, -1);
	bson_append_bool(command, "ordered", -1, false);
	bson_append_array_begin(command, names[kind][1], -1, &list);
	for (int i = 0; i < n; i++)
	{
		const MtsForm *form = mts_op_form(ops[i]);
		char digits[16];
		const char *key;
		int len = (int) bson_uint32_to_string(i, &key, digits, sizeof(digits));
		bson_t statement;

		if (kind == MTS_OP_INSERT && names_ids &&
			!bson_has_field(form->document, "_id"))
			append_with_id(&list, key, len, form->document);
		else if (kind == MTS_OP_INSERT)
			bson_append_document(&list, key, len, form->document);
		else
		{
			bson_append_document_begin(&list, key, len, &statement);
			append_statement(attempt, form, names_ids, &statement);
			bson_append_document_end(&list, &statement);
		}
	}
	bson_append_array_end(command, &list);
	mts_comment_append(attempt, command);
	return command;
}
