"""Results that people bring along, from the files that arrive to the runs that are saved.

arriving     where the bytes of a request go: to disk as they come, up to a limit
incoming     what lies in the storage "incoming" while an import waits
life         the states of an upload; the only writer of them
redacting    secrets out of a whole file, at the speed of reading it
reading      files to what a person is shown: unpacked, redacted, read, grouped
recognised   the shape of that, as JSON
stated       what the person adds
working      whatever an upload waits for, done: in the request or in a worker

Of what programs bring along:

form_data    the multipart body of a request, in memory while that is little
manifest     what a program states, and the words that it may hold
stating      that and what the files tell, put together
keys         the names under which programs upload, so that nothing is stored twice
at_once      small files read, merged and judged in memory
programs     all of it: an upload stored at once, or kept for a worker
refusing     why files are not saved: file, line, column
"""
