/*
 * edit.c
 *		Collect what UPDATE and DELETE change, until the statement has read
 *		all that it reads.
 *
 * Nothing is sent before that: a point that was changed or has moved would be
 * read, and changed, again.  Then new places are filled before old ones are
 * left, so that what fails in between loses no point.
 */
#include "edit.h"

#include "access/htup_details.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compat.h"

/*
 * mts_edits_new
 *		Begin to collect changes to the rows that targets number.
 */
MtsEdits *
mts_edits_new(Relation relation, MtsWriter *writer, Oid userid,
			  MtsTargets *targets)
{
	static const Oid types[] = {INT8OID, INT8OID, INT4OID, BYTEAOID, BYTEAOID};
	static AttrNumber columns[] = {MTS_SORTED_BUCKET, MTS_SORTED_BLOCK,
								   MTS_SORTED_LOW};
	static Oid operators[] = {Int8LessOperator, Int8LessOperator,
							  Int4LessOperator};
	static Oid collations[] = {InvalidOid, InvalidOid, InvalidOid};
	static bool nulls_first[] = {false, false, false};
	MtsEdits *edits = palloc0(sizeof(MtsEdits));

	edits->writer = writer;
	edits->userid = userid;
	edits->rows = RelationGetDescr(relation);
	edits->targets = targets;
	edits->row_context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw changed row",
							  ALLOCSET_DEFAULT_SIZES);
	edits->sorted_desc = CreateTemplateTupleDesc(MTS_SORTED_ATTRIBUTES);
	for (int i = 0; i < MTS_SORTED_ATTRIBUTES; i++)
		TupleDescInitEntry(edits->sorted_desc, i + 1, NULL, types[i], -1, 0);
	edits->sorted_slot =
		MakeSingleTupleTableSlot(edits->sorted_desc, &TTSOpsMinimalTuple);
	edits->sorted =
		tuplesort_begin_heap(edits->sorted_desc, lengthof(columns), columns,
							 operators, collations, nulls_first, work_mem,
							 NULL, TUPLESORT_RANDOMACCESS);
	return edits;
}

/* A row's bytes */
static Datum
tuple_bytes(MinimalTuple tuple)
{
	return PointerGetDatum(
		cstring_to_text_with_len((char *) tuple, tuple->t_len));
}

/* Keep a change in place, or a removal. */
static void
keep(MtsEdits *edits, const MtsTarget *target, ItemPointer tid, int low,
	 HeapTuple old_row, TupleTableSlot *new_row)
{
	TupleTableSlot *slot =
		MakeSingleTupleTableSlot(edits->sorted_desc, &TTSOpsVirtual);

	slot->tts_values[MTS_SORTED_BUCKET - 1] =
		Int64GetDatum(target->bucket->ordinal);
	slot->tts_values[MTS_SORTED_BLOCK - 1] =
		Int64GetDatum(ItemPointerGetBlockNumberNoCheck(tid));
	slot->tts_values[MTS_SORTED_LOW - 1] = Int32GetDatum(low);
	slot->tts_values[MTS_SORTED_OLD - 1] =
		tuple_bytes(mts_minimal_tuple(old_row));
	memset(slot->tts_isnull, false, MTS_SORTED_ATTRIBUTES);
	slot->tts_isnull[MTS_SORTED_NEW - 1] = new_row == NULL;
	if (new_row)
		slot->tts_values[MTS_SORTED_NEW - 1] =
			tuple_bytes(ExecCopySlotMinimalTuple(new_row));
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(edits->sorted, slot);
	edits->n++;
	ExecDropSingleTupleTableSlot(slot);
}

/* Enter the memory of one row, and forget the last one's. */
static MemoryContext
begin_row(MtsEdits *edits)
{
	MemoryContextReset(edits->row_context);
	return MemoryContextSwitchTo(edits->row_context);
}

/* Take a row for this statement; false when it has been taken already. */
static MtsTarget *
take(MtsEdits *edits, ItemPointer tid, int *low)
{
	MtsTarget *target = mts_targets_find(edits->targets, tid, low);
	MemoryContext old;

	if (bms_is_member(*low, target->changed))
		return NULL;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(target));
	target->changed = bms_add_member(target->changed, *low);
	MemoryContextSwitchTo(old);
	return target;
}

/*
 * mts_edits_remove
 *		Note that a row is to be removed; false when that is known already.
 */
bool
mts_edits_remove(MtsEdits *edits, ItemPointer tid, HeapTuple old_row)
{
	int low;
	MtsTarget *target = take(edits, tid, &low);
	MemoryContext old;

	if (!target)
		return false;
	old = begin_row(edits);
	keep(edits, target, tid, low, old_row, NULL);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * mts_edits_differ
 *		Does a column's value in a row differ from that of these values?
 */
bool
mts_edits_differ(const MtsEdits *edits, int column, const Datum *values,
				 const bool *nulls, TupleTableSlot *row)
{
	int i = edits->writer->table->attributes[column].attnum - 1;
	Form_pg_attribute att = TupleDescAttr(edits->rows, i);

	return nulls[i] != row->tts_isnull[i] ||
		   (!nulls[i] && !datum_image_eq(values[i], row->tts_values[i],
										 att->attbyval, att->attlen));
}

static _Noreturn void refuse_change(const MtsColumn *column,
									const char *detail);

static void
refuse_change(const MtsColumn *column, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot update column \"%s\"", column->name),
					errdetail("%s", detail)));
	pg_unreachable();
}

/* Does a change take a point to another bucket or slot? */
static bool
is_move(const MtsEdits *edits, const MtsTarget *target, HeapTuple old_row,
		TupleTableSlot *new_row)
{
	const MtsTable *table = edits->writer->table;
	const MtsLayout *layout = &table->layout;
	const MtsPlacer *placer = edits->writer->placer;
	int natts = edits->rows->natts;
	Datum *values = palloc(natts * sizeof(Datum));
	bool *nulls = palloc(natts * sizeof(bool));
	bool moves = false;

	heap_deform_tuple(old_row, edits->rows, values, nulls);
	slot_getallattrs(new_row);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		int attribute = table->attributes[i].attnum - 1;

		if (!mts_edits_differ(edits, i, values, nulls, new_row))
			continue;
		if (placer->identity->read_only[i])
			refuse_change(column, "MongoDB or the writes themselves fill "
								  "its field.");
		if (layout->nslots > 0 && column->role == MTS_ROLE_ATTRIBUTE)
			refuse_change(
				column, "It describes the bucket, which other points share.");
		if (layout->nslots == 0 && column->path.nsteps > 0 &&
			strcmp(column->path.steps[0].name, "_id") == 0)
			refuse_change(column, "MongoDB never changes an _id.");
		if (layout->write_mode == MTS_WRITE_INCREMENT &&
			column->role == MTS_ROLE_VALUE && new_row->tts_isnull[attribute])
			refuse_change(column, "Nothing can be added to null.");
		if (i == layout->time_column && !nulls[attribute])
			moves |= !mts_place_stays(placer, target->bucket->start,
									  values[attribute], new_row);
		else
			moves |= layout->nslots > 0 && (column->role == MTS_ROLE_KEY ||
											column->role == MTS_ROLE_SLOT);
	}
	return moves;
}

/* See that the new row can be stored, and round its time. */
static void
check_row(const MtsEdits *edits, const MtsTarget *target, bool moves,
		  TupleTableSlot *new_row)
{
	const MtsPlacer *placer = edits->writer->placer;
	const MtsTable *table = placer->table;
	const MtsIdentity *identity = placer->identity;
	bson_value_t *values =
		palloc0(table->layout.ncolumns * sizeof(bson_value_t));
	bool has_bucket = !moves && table->layout.bucket_time.is_set;
	MtsPlace *place;

	if (moves && identity->problem)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot move a point of this foreign table to "
							   "another bucket"),
						errdetail("%s", identity->problem),
						identity->hint ? errhint("%s", identity->hint) : 0));
	place = mts_place_row(placer, new_row,
						  has_bucket ? &target->bucket->start : NULL);
	if (table->set && table->layout.nslots == 0 &&
		!mts_place_is_timeless(placer, new_row) &&
		strcmp(mts_collection_at(table, place->time),
			   target->bucket->collection) != 0)
		refuse_change(mts_layout_time(&table->layout),
					  "The document would belong to another collection.");
	if (moves || table->layout.nslots == 0)
		mts_place_keys(placer, new_row, values);
}

/*
 * mts_edits_change
 *		Note that a row is to be changed; false when it has been already.
 *
 * An error when a column is changed that can't be.  The new row's time is
 * changed where it is rounded to its slot.
 */
bool
mts_edits_change(MtsEdits *edits, ItemPointer tid, HeapTuple old_row,
				 TupleTableSlot *new_row)
{
	int low;
	MtsTarget *target = take(edits, tid, &low);
	bool moves;
	MemoryContext old;

	if (!target)
		return false;
	old = begin_row(edits);
	moves = is_move(edits, target, old_row, new_row);
	check_row(edits, target, moves, new_row);
	keep(edits, target, tid, low, old_row, moves ? NULL : new_row);
	if (moves)
	{
		MemoryContextSwitchTo(GetMemoryChunkContext(edits));
		target->moved = bms_add_member(target->moved, low);
		edits->moved =
			lappend(edits->moved, ExecCopySlotMinimalTuple(new_row));
	}
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * mts_edits_finish
 *		Send everything.
 */
void
mts_edits_finish(MtsEdits *edits)
{
	if (edits->n > 0)
		tuplesort_performsort(edits->sorted);
	if (edits->moved)
		mts_edits_move(edits);
	if (edits->n > 0)
		mts_edits_send(edits, false);
	tuplesort_end(edits->sorted);
}
