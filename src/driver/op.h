/*
 * op.h
 *		One write, as a list of forms.
 *
 * A form is tried when those before it have failed.  The first one costs the
 * server least, but assumes what is stored.  The last one is right whatever is
 * stored.  Who builds a write builds the list, and says of each form what
 * follows if it fails.  Nobody changes the list later.
 */
#ifndef MTS_OP_H
#define MTS_OP_H

#include "postgres.h"

#include <bson/bson.h>

/* The forms of a write, at most */
#define MTS_MAX_FORMS 2

typedef enum MtsOpKind
{
	MTS_OP_INSERT,
	MTS_OP_UPDATE,
	MTS_OP_UPSERT,
	MTS_OP_DELETE,
	MTS_OP_DELETE_MANY
} MtsOpKind;

/* What follows when a form has failed */
typedef enum MtsThen
{
	MTS_THEN_REPORT, /* an error if it was refused; a number of documents that
					  * is too small if it has found nothing */
	MTS_THEN_AGAIN,  /* the form again: another session was in the way */
	MTS_THEN_NEXT,   /* the next form */
	MTS_THEN_DONE    /* nothing: the write is not needed */
} MtsThen;

/* One way to do a write; the caller owns the documents. */
typedef struct MtsForm
{
	MtsOpKind kind;
	MtsThen if_refused; /* by a duplicate key; MTS_THEN_NEXT also follows any
						 * other refusal for good */
	MtsThen if_none;    /* it has found no document.  With MTS_THEN_NEXT, the
						 * writes of a call can be done twice */
	const bson_t *selector; /* NULL in an insert */
	const bson_t *document; /* or pipeline; NULL in a delete */
	/* makes the document when the form is used, or NULL */
	const bson_t *(*build)(const void *source);
} MtsForm;

typedef struct MtsOp
{
	MtsForm forms[MTS_MAX_FORMS];
	int nforms;
	int form;                   /* that is used; see mts_op_use */
	const void *source;         /* of documents that are built */
	int npoints;                /* that it writes */
	const struct MtsSeen *seen; /* what a delete of all that matches must
								 * remove; NULL for whatever there is */
	const char *collection;     /* of a rolling set, or NULL */
	const bson_t *identity; /* by which writes of one bucket are sorted, and
							 * that messages name; NULL for the selector */

	/* the outcome */
	int duplicates;      /* how often a duplicate key refused it */
	const char *refusal; /* the server's message, in UTF-8, or NULL */
	int code;            /* of the refusal */
	bool is_aborted;     /* it is not done, maybe for another one's refusal */
} MtsOp;

/* Return the form of a write that is used. */
static inline const MtsForm *
mts_op_form(const MtsOp *op)
{
	return &op->forms[op->form];
}

/* Return the form that is right whatever is stored. */
static inline const MtsForm *
mts_op_last_form(const MtsOp *op)
{
	return &op->forms[op->nforms - 1];
}

/* Tell whether a form makes a document unless it finds one. */
static inline bool
mts_op_makes(const MtsForm *form)
{
	return form->kind == MTS_OP_INSERT || form->kind == MTS_OP_UPSERT;
}

/* Use a form of a write, and build it. */
static inline void
mts_op_use(MtsOp *op, int form)
{
	MtsForm *used = &op->forms[form];

	Assert(form >= op->form && form < op->nforms);
	op->form = form;
	if (used->build && !used->document)
		used->document = used->build(op->source);
}

/*
 * Add a form behind the others.  A duplicate key refuses an upsert while
 * another session makes the same document.
 */
static inline MtsForm *
mts_op_add(MtsOp *op, MtsOpKind kind, const bson_t *selector,
		   const bson_t *document)
{
	MtsForm *form = &op->forms[op->nforms++];

	Assert(op->nforms <= MTS_MAX_FORMS);
	*form = (MtsForm){.kind = kind,
					  .if_refused = kind == MTS_OP_UPSERT ? MTS_THEN_AGAIN
														  : MTS_THEN_REPORT,
					  .selector = selector,
					  .document = document};
	return form;
}

/* Make a write with one form. */
static inline MtsOp
mts_op(MtsOpKind kind, const bson_t *selector, const bson_t *document)
{
	MtsOp op = {.nforms = 0};

	(void) mts_op_add(&op, kind, selector, document);
	return op;
}

#endif /* MTS_OP_H */
