/*
 * attempt.h
 *		Select the server of a call, and decide whether to repeat the call.
 */
#ifndef MTS_ATTEMPT_H
#define MTS_ATTEMPT_H

#include "driver/connection.h"

/* Where a call goes */
typedef enum MtsReadFrom
{
	MTS_FROM_PREFERRED, /* a member by the read preference of the URI */
	MTS_FROM_PRIMARY
} MtsReadFrom;

/*
 * A call of libmongoc's.  While it fails, it is sent again as long as that is
 * harmless and may help:
 *
 *		do
 *		{
 *			mts_attempt_select_server(&attempt);
 *			ok = .. send the call to attempt.server ..;
 *		} while (!ok && mts_attempt_should_repeat(&attempt, &error));
 */
typedef struct MtsAttempt
{
	MtsConnection *connection;
	const char *message; /* of its errors */
	Oid relid;           /* the table that it is for, or InvalidOid */
	bool needs_primary;
	bool is_repeatable;   /* sent twice it has the same effect as once */
	bool is_write;        /* it writes */
	bool precedes_write;  /* it reads what will be written */
	bool in_transaction;  /* the call is a command of a transaction */
	bool sends_collation; /* unless the server is known to refuse the option */
	bool has_failed;      /* it has been sent, without success */
	int64 expiry;         /* when it is given up, in monotonic microseconds */
	int64 patience;       /* of the next scan of the members; see MtsWait */
	bool patience_ended;  /* for a member, in the last scan */
	MtsServer server;     /* the one selected last */
} MtsAttempt;

extern MtsAttempt mts_attempt_begin(MtsConnection *connection,
									const char *message, MtsReadFrom from);
extern void mts_attempt_select_server(MtsAttempt *attempt);
extern bool mts_attempt_try_select_server(MtsAttempt *attempt,
										  bson_error_t *error);
extern bool mts_attempt_should_repeat(MtsAttempt *attempt,
									  const bson_error_t *error);
extern bool mts_attempt_may_read_snapshots(MtsConnection *connection,
										   bool otherwise);
extern void mts_attempt_begin_optional(MtsAttempt *attempt);
extern void mts_attempt_end_optional(MtsAttempt *attempt, bool ok,
									 const bson_error_t *error);
extern void mts_attempt_append_collation(const MtsAttempt *attempt,
										 bson_t *doc);
extern void mts_attempt_back_off(int tries);

#endif /* MTS_ATTEMPT_H */
