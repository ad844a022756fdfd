/*
 * proof.h
 *		Ask MongoDB whether documents contradict what a table declares.
 */
#ifndef MTS_PROOF_H
#define MTS_PROOF_H

#include "postgres.h"

#include "core/query/counterexample.h"
#include "driver/connection.h"

extern const bson_t *
mts_proof_ask(MtsConnection *connection, const char *database,
			  const char *collection, const MtsLayout *layout,
			  const bson_t *filter, int sample, const MtsClaim *claims, int n,
			  int max_time);

#endif /* MTS_PROOF_H */
