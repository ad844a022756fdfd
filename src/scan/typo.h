/*
 * typo.h
 *		Warn of names that are probably misspelt.
 */
#ifndef MTS_TYPO_H
#define MTS_TYPO_H

#include "scan/bucket.h"

extern void mts_typo_record(const MtsBucket *bucket);
extern void mts_typo_report(const MtsBucket *bucket, Oid userid,
							bool is_of_part);

#endif /* MTS_TYPO_H */
