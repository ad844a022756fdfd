/*
 * overload.c
 *		Send a command again that an overloaded server has refused.
 *
 * Since MongoDB 8.2, an overloaded server refuses commands of any kind before
 * it begins them.  So exchange.c sends the same request again, whether it
 * reads, writes, or belongs to a transaction.  Before that, it waits for a
 * random time, which becomes longer, as the specification of MongoDB's drivers
 * on backpressure says.  Whoever sent the command knows nothing of it, unless
 * the last try is refused, too.
 */
#include "driver/overload.h"

#include "common/pg_prng.h"

#include "driver/command_log.h"
#include "driver/document.h"
#include "driver/server_error.h"
#include "driver/wait.h"

/* How often a command is sent again, as MongoDB's drivers do by default */
#define MAX_RETRIES 2

/* The longest wait before the first retry is twice this, in milliseconds. */
#define BASE_MSECS 100
#define MAX_MSECS 10000

/*
 * mts_overload_is
 *		Tell whether a reply says that the server is overloaded, and has not
 *		begun the command.
 */
bool
mts_overload_is(const bson_t *reply)
{
	uint32 code = (uint32) mts_document_number(reply, "code");

	return mts_document_number(reply, "ok") == 0 &&
		   (mts_server_error(code).kind == MTS_ERROR_OVERLOAD ||
			(mts_server_error_has_label(reply, "SystemOverloadedError") &&
			 mts_server_error_has_label(reply, "RetryableError")));
}

/* Choose the time before a retry, in milliseconds. */
static int32
choose_wait(const bson_t *reply, int tries)
{
	int64 base = mts_document_number(reply, "baseBackoffMS");
	double longest = Min(base > 0 ? base : BASE_MSECS, MAX_MSECS);

	longest = Min(longest * (1 << tries), MAX_MSECS);
	return (int32) (pg_prng_double(&pg_global_prng_state) * longest);
}

/*
 * mts_overload_may_send_again
 *		Wait until a request may be sent again after its last try was answered;
 *		false if it may not, or not in time.
 *
 * An interrupt ends the wait, and stays pending.
 */
bool
mts_overload_may_send_again(const MtsExchange *exchange, const bson_t *reply,
							int tries)
{
	int32 msecs, slice;
	int64 expiry;
	char message[100];

	if (tries > MAX_RETRIES || !mts_overload_is(reply))
		return false;
	msecs = choose_wait(reply, tries);
	expiry = mts_wait_expiry(msecs);
	if (mts_log_commands)
	{
		snprintf(message, sizeof(message),
				 "MongoDB is overloaded, a command is sent again after %d ms",
				 msecs);
		(void) mts_command_log_emit(LOG, message, NULL);
	}
	while (!mts_wait_is_over(exchange->wait) &&
		   (slice = mts_wait_slice(expiry)) > 0)
		mts_wait_nap(slice);
	return !mts_wait_is_over(exchange->wait);
}
