"""Models that speak the Messages API: protocol, client, retries, discovery of local servers, prices."""
