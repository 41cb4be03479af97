// Parquet writes the CSV of "anesim sweep" as a Parquet file.
//
//	parquet -o OUT.parquet [FILE]
//
// It reads FILE, or standard input, which is the output of anesim sweep, sweep merge or
// sweep front. A column of whole numbers becomes INT64, one of other numbers DOUBLE, and
// every other column a string; an empty field becomes a null. The types of the results are
// fixed; those of the swept keys follow from their values, so the file is read twice, and
// standard input is first copied to a temporary file.
//
// The bytes of the output follow from the rows alone: columns are not compressed, because
// the output of compressors differs between machines, and labels have dictionaries instead.
// Memory is bounded by a group of 65,536 rows. OUT.parquet appears when it is complete.
//
// It is a module of its own so that the simulator does not carry the Parquet writer and
// the seven modules behind it.
package main
