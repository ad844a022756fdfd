/*
 * zip.c
 *		Zip the points of several containers by their slots.
 *
 * Each container's points are collected and sorted; then those of the least
 * slot make the next point.  The memory comes from the caller's function and
 * is reused from bucket to bucket.
 */
#include "core/zip.h"

#include <stdlib.h>
#include <string.h>

#include "core/walk.h"

/* A point of one container, kept until all containers are collected */
struct MtsCell
{
	MtsTime time;
	MtsElement element;
	MtsSlotKey slots[MTS_MAX_SLOTS];
};

/*
 * mts_zip_init
 *		Get the first room for the points of a container.
 */
void
mts_zip_init(MtsUnfold *unfold, int container)
{
	struct MtsCells *cells = &unfold->cells[container];

	cells->room = 64;
	cells->items = unfold->resize(NULL, cells->room * sizeof(MtsCell));
}

/* Slots compare level by level; those that don't count have text. */
static int
compare_slots(const MtsSlotKey *a, const MtsSlotKey *b)
{
	for (int i = 0; i < MTS_MAX_SLOTS; i++)
	{
		if (a[i].index != b[i].index)
			return a[i].index < b[i].index ? -1 : 1;
		if (a[i].text || b[i].text)
		{
			int order =
				strcmp(a[i].text ? a[i].text : "", b[i].text ? b[i].text : "");

			if (order != 0)
				return order;
		}
	}
	return 0;
}

static int
compare_cells(const void *a, const void *b)
{
	return compare_slots(((const MtsCell *) a)->slots,
						 ((const MtsCell *) b)->slots);
}

static MtsCell *
add_cell(MtsUnfold *unfold, struct MtsCells *cells)
{
	MtsCell *cell;

	if (cells->n == cells->room)
	{
		cells->room *= 2;
		cells->items =
			unfold->resize(cells->items, cells->room * sizeof(MtsCell));
	}
	cell = &cells->items[cells->n++];
	memset(cell->slots, 0, sizeof(cell->slots));
	return cell;
}

/* Collect and sort the points of each container; false when one is invalid. */
static bool
collect(MtsUnfold *unfold)
{
	int nslots = unfold->layout->nslots;
	MtsElement element;

	for (; unfold->walking < unfold->layout->ncontainers; unfold->walking++)
	{
		MtsWalk *walk = &unfold->walks[unfold->walking];
		struct MtsCells *cells = &unfold->cells[unfold->walking];
		bool sorted = true;
		MtsUnfolded result;

		while ((result = mts_walk_next(unfold, walk, &element)) == MTS_POINT)
		{
			MtsCell *cell = add_cell(unfold, cells);

			cell->time = walk->levels[nslots - 1].at;
			cell->element = element;
			mts_walk_slots(walk, nslots, cell->slots);
		}
		if (result == MTS_INVALID)
			return false;
		for (size_t i = 1; i < cells->n && sorted; i++)
			sorted =
				compare_cells(&cells->items[i - 1], &cells->items[i]) <= 0;
		if (!sorted)
			qsort(cells->items, cells->n, sizeof(MtsCell), compare_cells);
	}
	return true;
}

static const MtsCell *
next_cell(const MtsUnfold *unfold, int container)
{
	const struct MtsCells *cells = &unfold->cells[container];

	return cells->next < cells->n ? &cells->items[cells->next] : NULL;
}

/*
 * mts_zip_next
 *		The next point of several containers: what they have in the least slot.
 */
MtsUnfolded
mts_zip_next(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsCell *least = NULL;
	const MtsCell *cell;
	int n = unfold->layout->ncontainers;

	if (!collect(unfold))
		return MTS_INVALID;
	for (int i = 0; i < n; i++)
	{
		cell = next_cell(unfold, i);
		if (cell && (!least || compare_cells(cell, least) < 0))
			least = cell;
	}
	if (!least)
		return MTS_DONE;
	point->time = least->time;
	memcpy(point->slots, least->slots, sizeof(point->slots));
	for (int i = 0; i < n; i++)
	{
		cell = next_cell(unfold, i);
		if (cell && compare_slots(cell->slots, point->slots) == 0)
		{
			point->cells[i] = cell->element;
			unfold->cells[i].next++;
		}
		else
			point->cells[i].type = 0;
	}
	return MTS_POINT;
}
