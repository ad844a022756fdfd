# Draws a chart of the references' times, as multiples of the extension's.
#
# usage: gnuplot -e 'data = "bench.dat"' chart.gp > bench.svg

stats data skip 1 using 0 nooutput
rows = STATS_records

set terminal svg size 940, 100 + 24 * rows font 'Helvetica,13' background 'white'
set logscale x
set xrange [0.004:500]
set yrange [rows - 0.4:-0.6]
set xlabel "multiples of mongo\\_ts\\_fdw's time; others are slower to the right of the line"
set format x '%g'
set xtics (0.01, 0.1, 0.5, 1, 2, 5, 10, 50, 200)
set grid xtics lc rgb '#dddddd'
set border 1
set tics nomirror scale 0
set key outside top horizontal width -1
set datafile missing '-'
set arrow from 1, graph 0 to 1, graph 1 nohead lw 2 lc rgb '#888888' back

names = "'floor: libmongoc alone' 'heap: a local table' 'pipeline: in MongoDB' ClickHouse DuckDB TimescaleDB 'mongo\\_fdw'"
colours = '#888888 #1f77b4 #2ca02c #d4a017 #9467bd #ff7f0e #d62728'
plot for [i = 1:7] data using i + 1:($0):ytic(1) every ::1 with points pt 7 \
	ps 0.9 lc rgb word(colours, i) title word(names, i)
