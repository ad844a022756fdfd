/*
 * bulk.h
 *		Send writes to MongoDB in bulk.
 */
#ifndef MTS_BULK_H
#define MTS_BULK_H

#include "postgres.h"
#include "storage/lock.h"

#include "driver/connection.h"

/*
 * A write that finds a duplicate key so often does not race with another session
 * that makes the bucket: another unique index refuses it
 */
#define MTS_MAX_DUPLICATES 5

typedef enum MtsOpKind
{
	MTS_OP_INSERT,
	MTS_OP_UPDATE,
	MTS_OP_UPSERT,
	MTS_OP_DELETE,
	MTS_OP_DELETE_MANY
} MtsOpKind;

/* One write; the documents are the caller's */
typedef struct MtsOp
{
	MtsOpKind kind;
	const bson_t *selector; /* NULL of an insert */
	const bson_t *document; /* or pipeline; NULL of a delete */
	int npoints;            /* that it stores */
	bool may_conflict;      /* is a duplicate key no error? */
	const bson_t *fresh;    /* of an upsert: what to insert first, or NULL */
	const char *collection; /* of a rolling set's writes; else NULL */
	int duplicates;         /* how often a duplicate key refused it */
	const char *refusal;    /* of the server, in UTF-8; NULL: none */
	int code;               /* of the refusal */
} MtsOp;

/* Where writes go, and what has become of them */
typedef struct MtsBulk
{
	MtsConnection *connection;
	const char *database;
	const char *collection; /* of a set: that was written last */
	struct MtsRoute *route; /* to the collections of a set; NULL: it is one */
	int64 stored;           /* points, of the whole statement */
	int64 unsent;           /* points that wait for the call to succeed */
	int64 in_flight;        /* points of the last command */
	bool is_unsure;         /* it may be done although it has no answer */
	int64 affected;         /* documents that the last call found or made */
	int64 made;             /* those of them that it made */
	int64 stale;            /* fresh ones that were there already */
} MtsBulk;

extern LOCKTAG mts_bulk_lock(const MtsBulk *bulk);
extern void mts_bulk_execute(MtsBulk *bulk, MtsOp *ops, int nops);

#endif /* MTS_BULK_H */
