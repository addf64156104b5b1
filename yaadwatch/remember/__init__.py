"""Write memories: remember, edit, review, link, inject."""
