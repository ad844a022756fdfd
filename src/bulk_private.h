/*
 * bulk_private.h
 *		What the files of bulk writes share.
 */
#ifndef MTS_BULK_PRIVATE_H
#define MTS_BULK_PRIVATE_H

#include "bulk.h"

/* A write that the server has refused */
typedef struct MtsRefused
{
	MtsOp *op;
	int code;
	char *message;
} MtsRefused;

/* The writes that are sent at once, and what became of them */
typedef struct MtsRound
{
	MtsBulk *bulk;
	MtsOp **ops;
	int n;
	MtsRefused *refused; /* of this round */
	int nrefused;
	MtsRefused *lost; /* refused for good, in any round */
	int nlost;
	bson_error_t concern; /* that was not met, in any round; domain 0: none */
} MtsRound;

/* bulk_refused.c */
extern bool mts_bulk_note_refused(MtsRound *round, MtsOp *const *ops, int n,
								  const bson_t *reply, bson_error_t *error);
extern bool mts_bulk_is_transient(const MtsRefused *refused);
extern bool mts_bulk_is_interrupted(const bson_t *reply, bson_error_t *error);
extern bool mts_bulk_is_unsure(const MtsBulk *bulk, const bson_error_t *error);
extern _Noreturn void mts_bulk_raise_failed(MtsBulk *bulk,
											const bson_error_t *error);
extern char *mts_bulk_what(const MtsBulk *bulk);
extern _Noreturn void mts_bulk_raise_lost(const MtsRound *round, int64 total);

#endif /* MTS_BULK_PRIVATE_H */
