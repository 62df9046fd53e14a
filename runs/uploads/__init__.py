"""Uploaded results, from the files of a request to the runs that are saved.

upload_handlers   where the bytes of a request go: to disk as they come, up to a limit
staging           the files in the storage "incoming" while an import waits
upload_lifecycle  the states of an upload; the only writer of them
file_redaction    secrets out of a whole file, at the speed of reading it
reads             unpacked and redacted files, read, and the runs in them
file_pipeline     files to what a person is shown, bounded in memory
recognition       the shape of that, as JSON
metadata          what the person adds
processing        the work that an upload waits for, in the request or in a worker

Of uploads by programs:

form_data         the multipart body of a request, in memory while that is little
manifest          what a program states, and the words that it may hold
metadata_merge    the manifest and what the files state, put together; team_metadata: with the team's rows
judgement         a run merged and judged as it was stated
keys              the names under which programs upload, so that nothing is stored twice
inline            small files read, merged and judged in memory
api_upload        an upload stored in its request, or kept for a worker
upload_errors     why files are not saved: file, line, column
"""
